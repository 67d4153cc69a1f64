import { type AddressInfo, connect, type Socket } from 'node:net';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { RecordView } from '../../../src/dashboard/ports.js';
import { makeRecord } from '../../store/make-record.js';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

const FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', 'a,"b"\n=c'];
let it: TestDashboard;
let owner: Caller;
/** The accounts whose turns were taken. */
let turns: string[] = [];

beforeAll(async () => {
  it = await testDashboard({
    longWork: async (accountId, _size, step) => {
      turns.push(accountId);
      return step();
    },
  });
  owner = await signIn(it, 'sign-up', { account: 'A', email: 'a@example.com', password: 'a long password' });
  for (const [place, text] of FORMULAS.entries()) await it.screen(owner.accountId, text, Date.now() + place);
});
afterAll(() => it.close());

test('CSV cells are never formulas', async () => {
  const { body, headers } = await ask(it, owner, 'GET', '/evidence/export?format=csv');
  expect(headers['content-disposition']).toContain('attachment');
  const rows: Record<string, string>[] = parse(body, { columns: true });
  expect(rows.length).toBe(FORMULAS.length);
  for (const row of rows) for (const cell of Object.values(row)) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
  expect(rows.map((row) => row['text'])).toContain('a,"b"\n=c');
  expect(new Set(rows.map((row) => row['input_kept']))).toEqual(new Set(['whole']));
});

test('JSONL has each record whole, with its label', async () => {
  const { body } = await ask(it, owner, 'GET', '/evidence/export?format=jsonl');
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ input }) => input.text).reverse()).toEqual(FORMULAS);
  expect(lines[0]).toHaveProperty('label', null);
});

test('the list and the export take the same filters, records without a label too', async () => {
  const { records } = (await ask(it, owner, 'GET', '/evidence')).json();
  await ask(it, owner, 'PUT', `/evidence/${records[2].id}/label`, { label: 'missed_attack' });
  for (const [label, wanted] of [
    ['missed_attack', 1],
    ['none', FORMULAS.length - 1],
    ['false_alarm', 0],
  ] as const) {
    const list = (await ask(it, owner, 'GET', `/evidence?label=${label}`)).json();
    expect(list.records).toHaveLength(wanted);
    const { body } = await ask(it, owner, 'GET', `/evidence/export?format=jsonl&label=${label}`);
    expect(body.split('\n').filter(Boolean)).toHaveLength(wanted);
  }
});

test('the list and the export know channel and task', async () => {
  const other = await signIn(it, 'sign-up', { account: 'T', email: 't@example.com', password: 'a long password' });
  await it.screen(other.accountId, 'Hello');
  await it.screen(other.accountId, { input: 'Minutes', channel: 'tool_result', task: '=Sum up' });
  const list = (await ask(it, other, 'GET', '/evidence?channel=tool_result')).json();
  expect(list.records).toMatchObject([{ channel: 'tool_result', task: { kept: 'whole', text: '=Sum up' } }]);
  expect((await ask(it, other, 'GET', '/evidence?channel=zebra')).statusCode).toBe(400);
  expect((await ask(it, other, 'GET', '/evidence?task=with')).json().records).toEqual(list.records);
  const without = (await ask(it, other, 'GET', '/evidence?task=without')).json();
  expect(without.records).toMatchObject([{ input: { text: 'Hello' } }]);
  const exported = await ask(it, other, 'GET', '/evidence/export?format=jsonl&task=with');
  expect(JSON.parse(exported.body)).toEqual(list.records[0]);
  expect((await ask(it, other, 'GET', '/evidence?task=zebra')).statusCode).toBe(400);
  const { body } = await ask(it, other, 'GET', '/evidence/export?format=csv');
  const rows: Record<string, string>[] = parse(body, { columns: true });
  expect(rows.map(({ channel, task, task_sha256 }) => [channel, task, task_sha256]).reverse()).toEqual([
    ['unknown', '', ''],
    ['tool_result', "'=Sum up", list.records[0].task.sha256],
  ]);
});

test('the playground takes channel and task', async () => {
  const other = await signIn(it, 'sign-up', { account: 'P', email: 'p@example.com', password: 'a long password' });
  const play = (body: object) => ask(it, other, 'POST', '/playground', { input: 'Minutes', ...body });
  const { record } = (await play({ channel: 'document', task: 'Sum up' })).json();
  expect(record).toMatchObject({ channel: 'document', task: { text: 'Sum up' } });
  expect((await play({ channel: 'unknown', task: '' })).json().record).not.toHaveProperty('task');
  const long = await play({ task: 'zebra'.repeat(1_000) });
  expect([long.statusCode, long.body.includes('zebra')]).toEqual([400, false]);
});

test.each(['/evidence', '/evidence/export?format=csv', '/audit/export?format=csv'])(
  'HEAD %s is refused',
  async (path) => {
    const read = [
      vi.spyOn(it.store.evidence, 'list'),
      vi.spyOn(it.store.evidence, 'iterate'),
      vi.spyOn(it.store.audit, 'list'),
    ];
    const url = `/dashboard/api${path}`;
    const { statusCode } = await it.app.inject({ method: 'HEAD', url, headers: { cookie: owner.cookie } });
    expect([400, 405]).toContain(statusCode);
    for (const spy of read) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  },
);

test('long texts are written a piece at a time, in the turns of their account', async () => {
  const long = await signIn(it, 'sign-up', { account: 'L', email: 'l@example.com', password: 'a long password' });
  // A pair of surrogates lies across each place where an even or an odd length is cut.
  const texts = ['=', '', 'x'].map((start) => start + '🦭"\r\n,'.repeat(60_000));
  for (const [place, text] of texts.entries()) await it.screen(long.accountId, text, Date.now() + place);
  turns = [];
  const csv = (await ask(it, long, 'GET', '/evidence/export?format=csv')).body;
  expect(turns.length).toBeGreaterThan((3 * 360_000) / 32_768);
  const rows: Record<string, string>[] = parse(csv, { columns: true });
  expect(rows.map((row) => row['text']).reverse()).toEqual([`'${texts[0]}`, ...texts.slice(1)]);
  for (const path of ['/evidence/export?format=jsonl', '/evidence']) {
    turns = [];
    const { body } = await ask(it, long, 'GET', path);
    const found =
      path === '/evidence'
        ? JSON.parse(body).records
        : body
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line));
    expect(found.map((record: RecordView) => record.input.text).reverse()).toEqual(texts);
    expect(turns, path).toEqual([long.accountId, long.accountId, long.accountId, ...turns.slice(3)]);
    expect(new Set(turns).size).toBe(1);
  }
});

test('whoever leaves while the session is looked up takes no place', async () => {
  const left = await signIn(it, 'sign-up', { account: 'R', email: 'r@example.com', password: 'a long password' });
  await it.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = it.app.server.address() as AddressInfo;
  const { sessions } = it.store;
  const find = sessions.find;
  const waiting: (() => void)[] = [];
  const looked = vi.spyOn(sessions, 'find').mockImplementation(async (token) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return find(token);
  });
  const head = `GET /dashboard/api/evidence/export?format=jsonl HTTP/1.1\r\nHost: localhost\r\nCookie: ${left.cookie}\r\n\r\n`;
  const closed = vi.fn();
  it.app.server.on('connection', (socket: Socket) => socket.once('close', closed));
  const sockets = Array.from({ length: 16 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  for (const socket of sockets) socket.write(head);
  await vi.waitFor(() => expect(waiting.length).toBe(16));
  for (const socket of sockets) socket.resetAndDestroy();
  await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(16));
  looked.mockRestore();
  const memberships = vi.spyOn(it.store.users, 'memberships');
  for (const goOn of waiting) goOn();
  await vi.waitFor(() => expect(memberships).toHaveBeenCalledTimes(16));
  await Promise.all(memberships.mock.results.map(({ value }) => value));
  const { statusCode, body } = await ask(it, left, 'GET', '/evidence/export?format=jsonl');
  expect([statusCode, body]).toEqual([200, '']);
});

test('an account has four exports at once, and one that is broken off gives its place back', async () => {
  const stalled = await signIn(it, 'sign-up', { account: 'S', email: 's@example.com', password: 'a long password' });
  // More than a connection holds that nobody reads.
  const { accountId } = stalled;
  for (let at = 0; at < 20; at++)
    await it.store.evidence.append(makeRecord({ accountId, text: 'x'.repeat(1_000_000) }));
  const { port } = it.app.server.address() as AddressInfo;
  const status = (socket: Socket): Promise<string> =>
    new Promise((resolve) => socket.once('data', (data) => resolve(data.toString('latin1', 9, 12))));
  const open = async (): Promise<readonly [Socket, string]> => {
    const socket = connect(port, '127.0.0.1');
    const head = `GET /dashboard/api/evidence/export?format=jsonl HTTP/1.1\r\nHost: localhost\r\nCookie: ${stalled.cookie}\r\n\r\n`;
    socket.write(head);
    const got = await status(socket);
    socket.pause();
    return [socket, got];
  };
  const sockets: Socket[] = [];
  for (let at = 0; at < 4; at++) {
    const [socket, got] = await open();
    expect(got).toBe('200');
    sockets.push(socket);
  }
  const [late, refused] = await open();
  expect(refused).toBe('503');
  expect((await ask(it, owner, 'GET', '/evidence/export?format=csv')).statusCode, 'of another account').toBe(200);
  for (const socket of [late, ...sockets]) socket.destroy();
  await vi.waitFor(async () => {
    const [socket, got] = await open();
    socket.destroy();
    expect(got).toBe('200');
  });
});
