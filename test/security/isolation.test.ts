import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { hashPassword } from '../../src/dashboard/api/sign-in/password-hash.js';
import { onBothDatabases } from '../contract/on-both-databases.js';
import { ATTACK, HARMLESS } from '../contract/texts.js';
import { type Session, signedIn } from './dashboard-session.js';

const MARKER = 'zebra-marker-of-ada';

onBothDatabases((service) => {
  let ada: Session;
  let eve: Session;
  /** What is Ada's alone: ids, her secret, her text. */
  let hers: readonly string[];
  let evidenceId: string;
  let keyId: string;
  let secret: string;
  let invitationId: string;
  let orderId: string;
  let webhookId: string;

  beforeAll(async () => {
    ada = await signedIn(service(), 'ada');
    eve = await signedIn(service(), 'eve');
    const key = (await ada.api('POST', '/keys', { name: 'mail' })).json();
    keyId = key.id;
    secret = key.secret;
    evidenceId = (await service().call({ body: { input: `${MARKER} ${ATTACK}` }, key: secret })).json().evidence_id;
    const invited = await ada.api('POST', '/invitations', { email: 'guest@example.com', role: 'viewer' });
    expect(invited.status).toBe(200);
    invitationId = (await service().store.users.invitations(ada.accountId))[0]?.id ?? '';
    orderId = (await ada.api('POST', '/orders', { kind: 'overage', packs: 3 })).json().orderId;
    const hook = { url: 'https://hook-of-ada.example/in', events: ['quota.low'] };
    webhookId = (await ada.api('POST', '/webhooks', hook)).json().id;
    const orders = (await ada.api('GET', '/plan')).json().orders as readonly { readonly id: string }[];
    hers = [
      MARKER,
      invitationId,
      invited.json().token,
      evidenceId,
      keyId,
      secret,
      webhookId,
      hook.url,
      ada.accountId,
      ada.userId,
      ada.email,
      ...orders.map(({ id }) => id),
    ];
  });

  it('API1: no list, page, search or export of one account holds anything of another', async () => {
    const paths = [
      ...[
        '/session',
        '/overview',
        '/overview?range=month',
        '/keys',
        '/plan',
        '/settings',
        '/overlay',
        '/audit',
        '/webhooks',
        '/evidence',
        '/evidence?limit=200',
      ],
      ...[
        `/evidence?text=${MARKER}`,
        `/evidence?keyId=${keyId}`,
        '/evidence?verdict=block',
        '/evidence/export?format=csv',
      ],
      ...['/evidence/export?format=jsonl', `/evidence/export?format=jsonl&keyId=${keyId}`],
    ];
    for (const path of paths) {
      const own = await ada.api('GET', path);
      const other = await eve.api('GET', path);
      expect(own.status, path).toBe(200);
      expect(other.status, path).toBe(200);
      for (const thing of hers) expect(other.body, path).not.toContain(thing);
    }
    expect((await ada.api('GET', '/evidence/export?format=jsonl')).body).toContain(MARKER);
  });

  it('API1: an id of another account is unknown, to read and to change, and nothing of it changes', async () => {
    const tries: readonly (readonly [string, string, object?])[] = [
      ['GET', `/evidence/${evidenceId}`],
      ['PUT', `/evidence/${evidenceId}/label`, { label: 'false_alarm' }],
      ['POST', `/evidence/${evidenceId}/replay`, {}],
      ['POST', `/keys/${keyId}/rotate`, { graceSeconds: 0 }],
      ['POST', `/keys/${keyId}/undo-rotation`, {}],
      ['POST', `/keys/${keyId}/revoke`, {}],
      ['DELETE', `/members/${ada.userId}`],
      ['PUT', `/members/${ada.userId}`, { role: 'viewer' }],
      ['POST', `/orders/${orderId}/cancel`, {}],
      ['DELETE', `/webhooks/${webhookId}`],
      ['POST', `/webhooks/${webhookId}/test`, {}],
      ['PUT', '/session/account', { accountId: ada.accountId }],
    ];
    const invented = (path: string) => path.replace(/(ev|key|user|order|hook)_([0-9a-f]{4})/, '$1_0000');
    for (const [method, path, body] of tries) {
      const answer = await eve.api(method, path, body);
      const nowhere = await eve.api(method, invented(path), body);
      expect([answer.status, answer.body], `${method} ${path}`).toEqual([404, nowhere.body]);
    }
    // Withdrawing is done when the invitation is gone: that of another account stays, whatever is answered.
    await eve.api('DELETE', `/invitations/${invitationId}`);
    expect((await ada.api('GET', '/settings')).body).toContain(invitationId);
    expect((await eve.api('GET', '/session')).json().member.accountId).toBe(eve.accountId);
    const record = (await ada.api('GET', `/evidence/${evidenceId}`)).json().record;
    expect(record).toMatchObject({ label: null, input: { text: `${MARKER} ${ATTACK}` } });
    expect((await service().call({ body: { input: HARMLESS }, key: secret })).status).toBe(200);
    expect((await ada.api('GET', '/session')).json().member.role).toBe('owner');
  });

  it('API8: what no database takes is refused or kept, never a 500', async () => {
    const nul = '%00a%00';
    for (const path of [
      `/evidence?text=${nul}`,
      `/evidence?rule=${nul}`,
      `/evidence?keyId=${nul}`,
      `/evidence?cursor=${nul}`,
      `/evidence/${nul}`,
    ])
      expect((await ada.api('GET', path)).status, path).toBeLessThan(500);
    for (const name of ['a\u0000b', '\ud800', '\u{1f512}'.repeat(40), "'; DROP TABLE api_keys; --"]) {
      expect((await ada.api('POST', '/keys', { name })).status, JSON.stringify(name)).toBeLessThan(500);
      expect((await ada.api('POST', `/keys/${encodeURIComponent('\u0000')}/revoke`, {})).status).toBeLessThan(500);
      expect(
        (await ada.api('POST', '/invitations', { email: `${name}@example.com`, role: 'viewer' })).status,
      ).toBeLessThan(500);
    }
  });

  it('API1: every route of the dashboard that takes an id is among those tried', () => {
    const routes = readdirSync('src/dashboard/api').filter((name) => name.endsWith('-routes.ts'));
    const withId = routes.flatMap((name) =>
      [
        ...readFileSync(`src/dashboard/api/${name}`, 'utf8').matchAll(
          /app\.(get|put|post|delete)\(\s*'([^']*:id[^']*)'/g,
        ),
      ].map(([, method, path]) => `${method} ${path}`),
    );
    expect(withId.sort()).toEqual([
      'delete /invitations/:id',
      'delete /members/:id',
      'delete /webhooks/:id',
      'get /evidence/:id',
      'post /evidence/:id/replay',
      'post /keys/:id/revoke',
      'post /keys/:id/rotate',
      'post /keys/:id/undo-rotation',
      'post /orders/:id/cancel',
      'post /webhooks/:id/test',
      'put /evidence/:id/label',
      'put /members/:id',
    ]);
  });

  it('API3: an account named in a body is not believed', async () => {
    const before = (await ada.api('GET', '/settings')).json().settings;
    const settings = { keep: 'hash', retentionDays: 1, verdictForm: 'minimal' };
    const foreign = { accountId: ada.accountId, account_id: ada.accountId, account: ada.accountId };
    expect((await eve.api('PUT', '/settings', { ...settings, ...foreign })).status).toBe(200);
    expect((await ada.api('GET', '/settings')).json().settings).toEqual(before);
    await eve.api('PUT', '/settings', before);
    const made = (await eve.api('POST', '/keys', { name: 'x', ...foreign })).json();
    const verdict = (await service().call({ body: { input: HARMLESS, ...foreign }, key: made.secret })).json();
    expect(await service().store.evidence.get(ada.accountId, verdict.evidence_id)).toBeUndefined();
    expect(await service().store.evidence.get(eve.accountId, verdict.evidence_id)).toBeDefined();
  });

  it("API5: a key opens nothing of the dashboard, a session doesn't screen, a viewer changes nothing", async () => {
    const headers = { authorization: `Bearer ${secret}` };
    for (const path of ['/keys', '/evidence', `/evidence/${evidenceId}`, '/settings'])
      expect((await service().call({ method: 'GET', path: `/dashboard/api${path}`, headers })).status, path).toBe(401);
    const vera = { email: 'vera@example.com', password: 'a password of vera' };
    const user = await service().store.users.create(vera.email, await hashPassword(vera.password));
    await service().store.users.setMember(ada.accountId, user.id, 'viewer');
    const opened = await service().call({ path: '/dashboard/api/sign-in', body: vera });
    const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? '';
    const session = { cookie, 'x-csrf-token': opened.json().csrf };
    expect((await service().call({ body: { input: HARMLESS }, headers: session })).status).toBe(401);
    for (const [method, path, body] of [
      ['POST', '/keys', { name: 'x' }],
      ['POST', `/keys/${keyId}/revoke`, {}],
      ['PUT', '/settings', { keep: 'hash', retentionDays: 1, verdictForm: 'minimal' }],
      ['PUT', `/evidence/${evidenceId}/label`, { label: 'false_alarm' }],
      ['POST', '/orders', { kind: 'overage', packs: 1 }],
    ] as const)
      expect(
        (await service().call({ method, path: `/dashboard/api${path}`, body, headers: session })).status,
        path,
      ).toBe(403);
  });
});
