import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from './test-dashboard.js';

const FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', 'a,"b"\n=c'];
let it: TestDashboard;
let owner: Caller;

beforeAll(async () => {
  it = await testDashboard();
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
