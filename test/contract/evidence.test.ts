import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { onBothDatabases } from './on-both-databases.js';
import { ATTACK, HARMLESS } from './texts.js';

onBothDatabases((service) => {
  it('an evidence record has id, time, account, key, input, length, the whole Verdict, router level, rules with spans, versions, digest', async () => {
    const { key, keyId, accountId } = await service().account();
    const input = `\u{1f512} Hello. ${ATTACK}`;
    const before = Date.now();
    const verdict = (await service().call({ body: { input }, key })).json();
    const record = await service().store.evidence.get(accountId, verdict.evidence_id);
    expect(record).toMatchObject({
      id: verdict.evidence_id,
      account_id: accountId,
      key_id: keyId,
      input: { kept: 'whole', text: input, length: input.length },
      verdict,
      router_level: 'rules',
      model: { verdict: 'off', score: null, windows: [] },
      replay_digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(new Date(record?.time ?? '').getTime()).toBeGreaterThanOrEqual(before);
    const hit = record?.findings.find(({ rule }) => rule === verdict.rule);
    const span = hit?.span;
    expect(input.slice(span?.start, span?.end)).toMatch(/ignore all previous instructions/i);
  });

  it.each(['masked', 'hash'] as const)(
    'the record of an account that keeps its input %s has no more of it',
    async (keep) => {
      const { key, accountId } = await service().account({ settings: { keep } });
      const input = `Write to zebra@example.com. ${ATTACK}`;
      const verdict = (await service().call({ body: { input }, key })).json();
      const record = await service().store.evidence.get(accountId, verdict.evidence_id);
      // Keyed: the plain digest of a short text is found by trying texts.
      expect(record?.input.sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(record?.input.sha256).not.toBe(createHash('sha256').update(input).digest('hex'));
      expect(record?.input.length).toBe(input.length);
      expect(JSON.stringify(record)).not.toContain('zebra@example.com');
      expect(record?.input.text === null).toBe(keep === 'hash');
      expect(record?.verdict).toEqual(verdict);
    },
  );

  it('keys are made and rotated on the dashboard, and each decision is seen there by its account alone', async () => {
    const { email, password } = service().first;
    const api = (method: string, path: string, body?: object, headers = {}) =>
      service().call({ method, path: `/dashboard/api${path}`, ...(body === undefined ? {} : { body }), headers });
    const signedIn = await api('POST', '/sign-in', { email, password });
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    const headers = { cookie, 'x-csrf-token': signedIn.json().csrf };
    const made = (await api('POST', '/keys', { name: 'mail' }, headers)).json();
    expect(made.secret).toMatch(/^svc_live_/);
    const rotated = (await api('POST', `/keys/${made.id}/rotate`, { graceSeconds: 60 }, headers)).json();
    for (const key of [made.secret, rotated.secret]) {
      const verdict = (await service().call({ body: { input: ATTACK }, key })).json();
      const seen = (await api('GET', `/evidence/${verdict.evidence_id}`, undefined, headers)).json();
      expect(seen.record).toMatchObject({ id: verdict.evidence_id, verdict, input: { text: ATTACK } });
    }
    const stranger = await service().account();
    const { evidence_id } = (await service().call({ body: { input: HARMLESS }, key: stranger.key })).json();
    expect((await api('GET', `/evidence/${evidence_id}`, undefined, headers)).status).toBe(404);
    const replay = await api(
      'POST',
      `/evidence/${(await service().call({ body: { input: ATTACK }, key: rotated.secret })).json().evidence_id}/replay`,
      undefined,
      headers,
    );
    expect(replay.json()).toMatchObject({ outcome: 'identical' });
  });

  it('the record and its count are in the database before the answer is', async () => {
    const { key, accountId } = await service().account();
    for (let call = 1; call <= 10; call++) {
      const { evidence_id } = (await service().call({ body: { input: HARMLESS }, key })).json();
      const [record, months] = await Promise.all([
        service().store.evidence.get(accountId, evidence_id),
        service().store.usage.months(accountId, 1),
      ]);
      expect(record?.id).toBe(evidence_id);
      expect(months[0]?.used).toBe(call);
    }
  });
});
