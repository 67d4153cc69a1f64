import { expect, it } from 'vitest';
import { verdictSchema } from '../../src/index.js';
import type { Answer, Call } from './call.js';
import { onBothDatabases } from './on-both-databases.js';
import type { AccountWish } from './service.js';
import { ATTACK, HARMLESS } from './texts.js';

const attack = { input: ATTACK };
const harmless = { input: HARMLESS };
const MINIMAL = ['verdict', 'confidence', 'rule', 'reason', 'rules_version', 'evidence_id', 'latency_ms'];

/** One request, by an account of its own, and what its response must be. The other files have the details. */
interface Row {
  readonly name: string;
  readonly call: Call;
  readonly account?: AccountWish;
  /** Calls of the account before. */
  readonly before?: number;
  /** False: without the account's key. */
  readonly key?: boolean;
  readonly status: number;
  readonly body?: object;
  readonly headers?: object;
  readonly check?: (response: Answer) => void;
}

const rows: readonly Row[] = [
  { name: 'fact 1: the alias', call: { body: attack, path: '/v30/analyze' }, status: 200, body: { verdict: 'block' } },
  { name: 'fact 2: a bearer key', call: { body: attack }, key: false, status: 401, body: { error: /key/ } },
  {
    name: 'fact 3: a complete Verdict',
    call: { body: attack },
    status: 200,
    check: (it) => expect(verdictSchema.safeParse(it.json()).error).toBeUndefined(),
  },
  {
    name: 'fact 4: without a model the rules decide, and say so',
    call: { body: harmless },
    status: 200,
    body: { decided_by: 'rules', ml_version: 'off', mode: 'rules' },
    headers: { 'x-svc-model-score': 'n/a', 'x-svc-model-verdict': 'off' },
  },
  {
    name: 'fact 5: headers',
    call: { body: harmless },
    status: 200,
    headers: {
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'x-svc-router-level': 'rules',
      'ratelimit-limit': '250000',
      'ratelimit-remaining': '249999',
      'ratelimit-reset': expect.stringMatching(/^\d+$/),
    },
    check: (it) => expect(it.headers).not.toHaveProperty('retry-after'),
  },
  { name: 'fact 6: 400 without `input`', call: { body: {} }, status: 400, body: { error: /input/ } },
  {
    name: 'fact 6: 402',
    call: { body: harmless },
    account: { plan: 'trial', trialEndsAt: Date.UTC(2020, 0) },
    status: 402,
    body: { error: /trial/i, code: 'TRIAL_ENDED' },
  },
  {
    name: 'fact 6: 429',
    call: { body: harmless },
    account: { plan: 'tiny' },
    before: 3,
    status: 429,
    body: { error: /month/, code: 'MONTHLY_LIMIT_REACHED' },
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  },
  {
    name: 'fact 7: every call counts',
    call: { body: harmless },
    before: 2,
    status: 200,
    headers: { 'ratelimit-remaining': '249997' },
  },
  {
    name: 'fact 8: a bought pack lets calls in',
    call: { body: harmless },
    account: { plan: 'tiny', overage: 5 },
    before: 3,
    status: 200,
  },
  {
    name: 'fact 9: the schema, without a key',
    call: { method: 'GET', path: '/openapi.json' },
    key: false,
    status: 200,
    check: (it) => expect(it.json().info.version).toBe('1.0.0'),
  },
  { name: 'fact 10: versions', call: { body: attack }, status: 200, body: { rules_version: /\+[0-9a-f]{12}$/ } },
  { name: 'row rule: an id', call: { body: attack }, status: 200, body: { rule: 'override.ignore-previous' } },
  { name: 'row rule, reason: none', call: { body: harmless }, status: 200, body: { rule: 'none', reason: null } },
  {
    name: 'row score, threshold, confidence',
    call: { body: attack },
    status: 200,
    check: (it) => expect(it.json().score).toBeGreaterThanOrEqual(it.json().threshold),
  },
  {
    name: 'row Minimal form: asked for',
    call: { body: attack, path: '/analyze?form=minimal' },
    status: 200,
    check: (it) => expect(Object.keys(it.json())).toEqual(MINIMAL),
  },
  {
    name: 'row Minimal form: the account’s setting',
    call: { body: attack },
    account: { settings: { verdictForm: 'minimal' } },
    status: 200,
    check: (it) => expect(Object.keys(it.json())).toEqual(MINIMAL),
  },
  ...[null, false, 7, [ATTACK], { name: 'send', arguments: { body: ATTACK } }].map((input) => ({
    name: `row input of another JSON type: ${typeof input}`,
    call: { body: { input } },
    status: 200,
    body: { verdict: JSON.stringify(input).includes(ATTACK) ? 'block' : 'allow' },
  })),
  { name: 'row Malformed JSON', call: { body: '{"input": }' }, status: 400, body: { error: /position 10/ } },
  { name: 'row a body that is no object', call: { body: '[]' }, status: 400, body: { error: /an array/ } },
  {
    name: 'row Wrong Content-Type',
    call: { body: attack, headers: { 'content-type': 'text/plain' } },
    status: 415,
    body: { error: /application\/json/ },
  },
  { name: 'row body over the limit', call: { body: 'x'.repeat(1_048_577) }, status: 413, body: { error: /larger/ } },
  { name: 'row unknown path', call: { body: attack, path: '/nothing' }, status: 404, body: { error: /path/ } },
  {
    name: 'row other methods',
    call: { method: 'PUT', body: attack },
    status: 405,
    headers: { allow: 'OPTIONS, POST' },
  },
  {
    name: 'row CORS preflight',
    call: { method: 'OPTIONS' },
    key: false,
    status: 204,
    headers: { 'access-control-allow-methods': 'OPTIONS, POST' },
  },
  { name: 'row NUL', call: { body: '{"input":"a\\u0000b"}' }, status: 200 },
  { name: 'row lone surrogates', call: { body: '{"input":"\\ud800"}' }, status: 200 },
  {
    name: 'row invalid UTF-8',
    call: { body: Buffer.from([0x7b, ...Buffer.from('"input":"'), 0xff, 0x22, 0x7d]) },
    status: 200,
  },
  { name: 'numbers that no double holds', call: { body: '{"input":1e400}' }, status: 200 },
  { name: 'V6: an unknown page of the dashboard', call: { method: 'GET', path: '/dashboard/nothing' }, status: 404 },
  {
    name: 'V6: malformed JSON to the dashboard',
    call: { path: '/dashboard/api/sign-in', body: '{"email": }' },
    key: false,
    status: 400,
    body: { error: /position 10/ },
  },
];

onBothDatabases((service) => {
  it.each(rows)('$name', async ({ call, account, before = 0, key: withKey = true, status, ...expected }) => {
    const { key } = await service().account(account);
    for (let times = 0; times < before; times++) await service().call({ body: harmless, key });
    const response = await service().call({ ...call, ...(withKey ? { key } : {}) });
    expect(response.status).toBe(status);
    expect(response.headers).toMatchObject(expected.headers ?? {});
    for (const [name, value] of Object.entries(expected.body ?? {})) {
      if (value instanceof RegExp) expect(response.json()[name]).toMatch(value);
      else expect(response.json()[name]).toEqual(value);
    }
    expected.check?.(response);
  });

  it('a lossy number is stored as it was sent', async () => {
    const { key, accountId } = await service().account();
    const body = `{"input":{"n":12345678901234567890,"text":"${'a '.repeat(2_000)}"}}`;
    const { evidence_id } = (await service().call({ body, key })).json();
    const record = await service().store.evidence.get(accountId, evidence_id);
    expect(record?.input.text).toMatch(/^\{"n":12345678901234567890,/);
  });

  it('V6: what a stranger sends leaves no error in the log', () => {
    expect(service().output()).not.toMatch(/"level":(50|60)/);
  });
});
