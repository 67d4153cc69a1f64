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
  {
    name: '/v30/analyze is an alias of /analyze',
    call: { body: attack, path: '/v30/analyze' },
    status: 200,
    body: { verdict: 'block' },
  },
  { name: 'a call without a key is a 401', call: { body: attack }, key: false, status: 401, body: { error: /key/ } },
  {
    name: 'the body is a complete Verdict',
    call: { body: attack },
    status: 200,
    check: (it) => expect(verdictSchema.safeParse(it.json()).error).toBeUndefined(),
  },
  {
    name: 'without a model the rules decide, and the response says so',
    call: { body: harmless },
    status: 200,
    body: { decided_by: 'rules', ml_version: 'off', mode: 'rules' },
    headers: { 'x-svc-model-score': 'n/a', 'x-svc-model-verdict': 'off' },
  },
  {
    name: 'a verdict has its headers',
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
  { name: 'a body without `input` is a 400', call: { body: {} }, status: 400, body: { error: /input/ } },
  {
    name: 'a trial that has ended is a 402',
    call: { body: harmless },
    account: { plan: 'trial', trialEndsAt: Date.UTC(2020, 0) },
    status: 402,
    body: { error: /trial/i, code: 'TRIAL_ENDED' },
  },
  {
    name: 'a call over the plan is a 429',
    call: { body: harmless },
    account: { plan: 'tiny' },
    before: 3,
    status: 429,
    body: { error: /month/, code: 'MONTHLY_LIMIT_REACHED' },
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  },
  {
    name: 'every call counts, also one that is repeated',
    call: { body: harmless },
    before: 2,
    status: 200,
    headers: { 'ratelimit-remaining': '249997' },
  },
  {
    name: 'an overage pack admits calls over the plan',
    call: { body: harmless },
    account: { plan: 'tiny', overage: 5 },
    before: 3,
    status: 200,
  },
  {
    name: 'the schema is public',
    call: { method: 'GET', path: '/openapi.json' },
    key: false,
    status: 200,
    check: (it) => expect(it.json().info.version).toBe('1.0.0'),
  },
  {
    name: 'a verdict names the version of its rules',
    call: { body: attack },
    status: 200,
    body: { rules_version: /\+[0-9a-f]{12}$/ },
  },
  {
    name: '`rule` is the id of the rule that blocks',
    call: { body: attack },
    status: 200,
    body: { rule: 'override.ignore-previous' },
  },
  {
    name: 'an allowed text has the rule `none` and no reason',
    call: { body: harmless },
    status: 200,
    body: { rule: 'none', reason: null },
  },
  {
    name: 'the score of a block reaches the threshold',
    call: { body: attack },
    status: 200,
    check: (it) => expect(it.json().score).toBeGreaterThanOrEqual(it.json().threshold),
  },
  {
    name: 'a call may ask for the minimal form',
    call: { body: attack, path: '/analyze?form=minimal' },
    status: 200,
    check: (it) => expect(Object.keys(it.json())).toEqual(MINIMAL),
  },
  {
    name: 'an account may choose the minimal form',
    call: { body: attack },
    account: { settings: { verdictForm: 'minimal' } },
    status: 200,
    check: (it) => expect(Object.keys(it.json())).toEqual(MINIMAL),
  },
  ...[null, false, 7, [ATTACK], { name: 'send', arguments: { body: ATTACK } }].map((input) => ({
    name: `an input of another JSON type is screened: ${typeof input}`,
    call: { body: { input } },
    status: 200,
    body: { verdict: JSON.stringify(input).includes(ATTACK) ? 'block' : 'allow' },
  })),
  {
    name: 'malformed JSON is a 400 that names the position',
    call: { body: '{"input": }' },
    status: 400,
    body: { error: /position 10/ },
  },
  {
    name: 'a body that is no object is a 400 that names its type',
    call: { body: '[]' },
    status: 400,
    body: { error: /an array/ },
  },
  {
    name: 'another content type is a 415',
    call: { body: attack, headers: { 'content-type': 'text/plain' } },
    status: 415,
    body: { error: /application\/json/ },
  },
  {
    name: 'a body over the limit is a 413',
    call: { body: 'x'.repeat(1_048_577) },
    status: 413,
    body: { error: /larger/ },
  },
  { name: 'an unknown path is a 404', call: { body: attack, path: '/nothing' }, status: 404, body: { error: /path/ } },
  {
    name: 'another method is a 405 with `Allow`',
    call: { method: 'PUT', body: attack },
    status: 405,
    headers: { allow: 'OPTIONS, POST' },
  },
  {
    name: 'a CORS preflight needs no key',
    call: { method: 'OPTIONS' },
    key: false,
    status: 204,
    headers: { 'access-control-allow-methods': 'OPTIONS, POST' },
  },
  { name: 'a NUL character is screened', call: { body: '{"input":"a\\u0000b"}' }, status: 200 },
  { name: 'a lone surrogate is screened', call: { body: '{"input":"\\ud800"}' }, status: 200 },
  {
    name: 'invalid UTF-8 is screened',
    call: { body: Buffer.from([0x7b, ...Buffer.from('"input":"'), 0xff, 0x22, 0x7d]) },
    status: 200,
  },
  { name: 'a number that no double holds is screened', call: { body: '{"input":1e400}' }, status: 200 },
  {
    name: 'an unknown page of the dashboard is a 404',
    call: { method: 'GET', path: '/dashboard/nothing' },
    status: 404,
  },
  {
    name: 'malformed JSON to the dashboard is a 400 that names the position',
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

  it('what a stranger sends leaves no error in the log', () => {
    expect(service().output()).not.toMatch(/"level":(50|60)/);
  });
});
