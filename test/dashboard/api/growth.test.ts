import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newestRecords } from '../../../src/dashboard/api/review-routes.js';
import type { EvidenceRecord } from '../../../src/evidence/evidence-record.js';
import { recordedCall } from '../../../src/policy/run/flow-report.js';
import type { Store } from '../../../src/store/store.js';
import { collectGarbage } from '../../collect-garbage.js';
import { makeRecord } from '../../store/make-record.js';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

let time = Date.UTC(2026, 10, 22, 12);
let it: TestDashboard;
let owner: Caller;
const BODY = { account: 'A', email: 'a@example.com', password: 'a long password' };

beforeAll(async () => {
  it = await testDashboard({ now: () => time });
  owner = await signIn(it, 'sign-up', BODY);
});
afterAll(() => it.close());

test('an account makes a bounded number of keys a day, by rotation too', async () => {
  for (let at = 0; at < 99; at++) await it.store.keys.create(owner.accountId, `key ${at}`);
  const made = await ask(it, owner, 'POST', '/keys', { name: 'one more' });
  expect(made.statusCode).toBe(200);
  expect((await ask(it, owner, 'POST', '/keys', { name: 'too many' })).statusCode).toBe(429);
  const rotated = await ask(it, owner, 'POST', `/keys/${made.json().id}/rotate`, { graceSeconds: 0 });
  expect(rotated.statusCode).toBe(429);
  expect((await ask(it, owner, 'POST', `/keys/${made.json().id}/revoke`, {})).statusCode).toBe(200);
  time += 86_400_001;
  owner = await signIn(it, 'sign-in', BODY);
  expect((await ask(it, owner, 'POST', '/keys', { name: 'the next day' })).statusCode).toBe(200);
});

test('a bounded number of invitations waits', async () => {
  const invite = (at: number) =>
    ask(it, owner, 'POST', '/invitations', { email: `m${at}@example.com`, role: 'viewer' });
  const first = await invite(0);
  expect(first.statusCode).toBe(200);
  for (let at = 1; at < 100; at++)
    await it.store.users.invite(owner.accountId, `m${at}@example.com`, 'viewer', time + 86_400_000);
  expect((await invite(100)).statusCode).toBe(409);
  const [waiting] = await it.store.users.invitations(owner.accountId);
  await ask(it, owner, 'DELETE', `/invitations/${waiting?.id}`);
  expect((await invite(100)).statusCode).toBe(200);
});

test('an account applies a bounded number of overlay versions a day', async () => {
  const overlay = { rules: {}, allow: [] };
  const version = { source: 'threshold: 0.5\n', overlay, note: '', rulesVersion: 'x', actor: 'a@example.com' };
  for (let at = 0; at < 49; at++) await it.store.overlays.apply(owner.accountId, version);
  const apply = (replaces: number) => ask(it, owner, 'POST', '/overlay', { source: version.source, replaces });
  expect((await apply(49)).statusCode).toBe(200);
  expect((await apply(50)).statusCode).toBe(429);
  time += 86_400_001;
  owner = await signIn(it, 'sign-in', BODY);
  expect((await apply(50)).statusCode).toBe(200);
});

/** Record of a call with 100 flows. */
function recordOf(at: number, source = 'contacts'): EvidenceRecord {
  const flows = Array.from({ length: 100 }, (_, to) => ({
    ...{ argument: `to${at * 100 + to}`, kind: 'email', level: 'foreign' },
    source: { tool: source, span: { start: 0, end: 9 } },
  }));
  const record = makeRecord({ accountId: owner.accountId, time, channel: 'tool_call' });
  return { ...record, run: { id: 'r', tool: 'send_mail', flow: { flows } } } as unknown as EvidenceRecord;
}

test('the report of flows has a bounded number of rows, and says how many more there are', async () => {
  for (let at = 0; at < 6; at++) await it.store.evidence.append(recordOf(at));
  const { report, moreRows, isWhole } = (await ask(it, owner, 'GET', '/flows')).json();
  expect([report.calls, report.rows.length, moreRows, isWhole]).toEqual([6, 500, 100, true]);
});

test('one response keeps a bounded length of flows', async () => {
  const own = it.store.evidence.list;
  const records = Array.from({ length: 100 }, () => recordOf(0, 'x'.repeat(400)));
  Object.assign(it.store.evidence, { list: async () => ({ records, next: null, searchedTo: null }) });
  const { checked, isWhole } = (await ask(it, owner, 'GET', '/flows')).json();
  Object.assign(it.store.evidence, { list: own });
  expect([checked > 20, checked < 50, isWhole]).toEqual([true, true, false]);
});

test('one response reads a bounded length of flows', async () => {
  const records = Array.from({ length: 500 }, () => recordOf(0, 'x'.repeat(400)));
  const list = vi.fn(async () => ({ records, next: 'more', searchedTo: null }));
  const { isWhole } = await newestRecords({ ...it.store.evidence, list }, owner.accountId, {}, recordedCall);
  expect([list.mock.calls.length, isWhole]).toEqual([1, false]);
});

test.each(['/review/result', '/review/near'])('%s keeps no text of the pages that it has read', async (path) => {
  const heap: number[] = [];
  let pages = 0;
  const list: Store['evidence']['list'] = async () => {
    if (pages % 4 === 0) heap.push(collectGarbage());
    pages += 1;
    const record = makeRecord({ accountId: owner.accountId, time });
    const input = { ...record.input, text: structuredClone('x'.repeat(2_000_000)) };
    const rules = { ...record.rules, score: 0.5 };
    return { records: [{ ...record, rules, input }], next: 'more', searchedTo: null };
  };
  // No spy, which would keep the pages.
  const own = it.store.evidence.list;
  Object.assign(it.store.evidence, { list });
  const response = await ask(it, owner, 'GET', path);
  Object.assign(it.store.evidence, { list: own });
  expect(response.statusCode).toBe(200);
  expect(pages).toBeGreaterThan(8);
  expect(Math.max(...heap) - (heap[0] ?? 0)).toBeLessThan(12_000_000);
});
