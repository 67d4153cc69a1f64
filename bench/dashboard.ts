// npm run bench -- dashboard --data DIR: the dashboard's routes over the evidence that `npm run bench -- store --data DIR` made.
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { operatorBilling } from '../src/dashboard/billing/billing.js';
import { dashboard } from '../src/dashboard/dashboard.js';
import { createEngine } from '../src/index.js';
import { buildApp } from '../src/service/http/build-app.js';
import { openStore } from '../src/store/open-store.js';

const { values } = parseArgs({ options: { data: { type: 'string' }, rounds: { type: 'string', default: '40' } } });
if (values.data === undefined) throw new Error('give --data, the folder of `npm run bench -- store --data DIR`');
const rounds = Number(values.rounds);
const BOUND = 300;
const DAY = 86_400_000;
// The days that the store's bench fills.
const firstDay = Date.UTC(2026, 7, 1);

const store = await openStore({ data: values.data });
const [large, small] = await store.accounts.list();
if (!large || !small) throw new Error('no accounts there');

const { info } = createEngine({ mode: 'rules', model: false });
const none = async (): Promise<never> => {
  throw new Error('not measured here');
};
const unasked = (): never => {
  throw new Error('not measured here');
};
const app = await buildApp({
  store,
  engine: { info, score: none },
  nodeMetrics: false,
  extend: async (inner) =>
    dashboard(inner, {
      store,
      service: { playground: none, replay: none, preview: none, setting: unasked, parseOverlay: unasked },
      webhooks: { urlProblem: () => undefined, testBody: () => '' },
      rules: () => ({ version: info.rules_version, rules: [] }),
      ...{ billing: operatorBilling(store.orders), signUp: false, now: () => firstDay + 89 * DAY },
    }),
});

/** A cookie for an owner of the account; sessions are compared with a clock of the evidence's days. */
const cookieOf = async (accountId: string): Promise<string> => {
  const email = `bench-${accountId}@example.com`;
  const user = (await store.users.findByEmail(email)) ?? (await store.users.create(email, 'x'));
  await store.users.setMember(accountId, user.id, 'owner');
  return `__Host-portcullis=${await store.sessions.create(user.id, accountId, Date.now() + 300 * DAY)}`;
};
const cookies = { large: await cookieOf(large.id), small: await cookieOf(small.id) };
const { records: blocks } = await store.evidence.list(large.id, { verdict: 'block' }, null, 200);
for (const [place, { id }] of blocks.entries())
  if (place % 2 === 0) await store.evidence.label(large.id, id, place % 4 === 0 ? 'false_alarm' : 'missed_attack');

let state = 4711;
/** 0..1, the same in each run. */
const chance = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const words: string[] = [];
for (let at = 0; at < 60; at += 1) {
  const page = await store.evidence.list(large.id, { to: firstDay + (1 + at) * DAY }, null, 1);
  words.push(...(page.records[0]?.input.text ?? '').split(' ').filter((word) => word.length > 2));
}
const word = (): string => words[Math.floor(chance() * words.length)] ?? 'the';
const rule = (): string => `family.rule-${Math.floor(chance() * 50)}`;
const someDay = (): number => firstDay + Math.floor(chance() * 80) * DAY;

type Case = readonly [name: string, path: () => string, account?: 'large' | 'small'];
const evidence = (name: string, query: () => string, account: 'large' | 'small' = 'large'): Case => [
  name,
  () => `evidence?${query()}`,
  account,
];
const cases: readonly Case[] = [
  evidence('list', () => ''),
  ...['block', 'allow'].map((it) => evidence(`verdict ${it}`, () => `verdict=${it}`)),
  evidence('a rule', () => `rule=${rule()}`),
  evidence('a rule that never was', () => 'rule=family.never'),
  ...['rules', 'ml', 'ml-error-rules-fallback'].map((it) => evidence(`decided by ${it}`, () => `decidedBy=${it}`)),
  ...['rules', 'advanced', 'deep'].map((it) => evidence(`router level ${it}`, () => `routerLevel=${it}`)),
  ...['none', 'false_alarm', 'missed_attack'].map((it) => evidence(`label ${it}`, () => `label=${it}`)),
  evidence('a key', () => `keyId=key_${Math.floor(chance() * 5)}`),
  evidence('a key that never was', () => 'keyId=key_9'),
  evidence('a week', () => `from=${someDay()}&to=${someDay() + 7 * DAY}`),
  evidence('blocks of a rule by a key', () => `verdict=block&rule=${rule()}&keyId=key_1`),
  evidence('blocks decided by the model, advanced', () => 'verdict=block&decidedBy=ml&routerLevel=advanced'),
  evidence('blocks of a key that never was', () => 'verdict=block&keyId=key_9'),
  evidence('decided by rules, at a level that never was', () => 'decidedBy=rules&routerLevel=deep'),
  evidence('blocks without a label in a week', () => `verdict=block&label=none&from=${someDay()}`),
  evidence('a word', () => `text=${word()}`),
  evidence('two words', () => `text=${word()}%20${word()}`),
  evidence('a word that stands once', () => 'text=zyzzyva'),
  evidence('a text that never was', () => `text=${[1, 2, 3, 4, 5].map(word).join('%20')}`),
  evidence('a word in blocks of a rule', () => `text=${word()}&verdict=block&rule=${rule()}`),
  evidence('a word without a label in a week', () => `text=${word()}&label=none&from=${someDay()}`),
  evidence('a word of a key that never was', () => `text=${word()}&keyId=key_9`),
  evidence('a word, a small account', () => `text=${word()}`, 'small'),
  ['overview, 30 days', () => 'overview?range=month'],
  ['plan', () => 'plan'],
];

const LINES = [
  '| Asked | p50 ms | p95 ms | CPU p50 ms | CPU p95 ms | n | records a page |',
  '| - | - | - | - | - | - | - |',
];
const percentiles = (times: readonly number[]): readonly [number, number] => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
  return [at(0.5), at(0.95)];
};
const slow: string[] = [];
const slowByCpu: string[] = [];
for (const [name, path, account = 'large'] of cases) {
  const times: number[] = [];
  const work: number[] = [];
  let found = 0;
  for (let round = 0; round < rounds; round += 1) {
    const url = `/dashboard/api/${path()}`;
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    const response = await app.inject({ url, headers: { cookie: cookies[account] } });
    times.push(performance.now() - started);
    const { user, system } = process.cpuUsage(cpu);
    work.push((user + system) / 1000);
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
    found += (response.json().records ?? []).length;
  }
  const [p50, p95] = percentiles(times);
  const [cpu50, cpu95] = percentiles(work);
  if (p95 > BOUND) slow.push(name);
  if (cpu95 > BOUND) slowByCpu.push(name);
  const figures = [p50, p95, cpu50, cpu95].map((it) => it.toFixed(1)).join(' | ');
  const line = `| ${name} | ${figures} | ${rounds} | ${(found / rounds).toFixed(1)} |`;
  console.log(line);
  LINES.push(line);
}
const counted = (await store.evidence.versions(large.id)).reduce((sum, { calls }) => sum + calls, 0);
const said = (by: string, over: readonly string[]): string =>
  over.length === 0
    ? `Every p95 of ${by} is within ${BOUND} ms.`
    : `Over ${BOUND} ms at p95 of ${by}: ${over.join(', ')}.`;
const verdict = `${said('CPU time', slowByCpu)} ${said('time', slow)}`;
const cores = availableParallelism();
const busy = (loadavg()[0] ?? 0).toFixed(0);
writeFileSync(
  join('bench', 'record', 'dashboard.md'),
  `# The dashboard over a million records

\`npm run bench -- store --data DIR\`, then \`npm run bench -- dashboard --data DIR\`: ${counted.toLocaleString('en')} evidence records of one
account in the embedded database, Node ${process.versions.node}. Each row is a route asked through the whole app (session, schema,
JSON), one call after the other, with other values each round where there are any. A search for a text gives a page after
about 120 ms (the step under way is not broken off) with what it found until then, and where to go on. The machine had ${cores} cores and a load of ${busy}: where
that is more than the cores, the time is mostly waiting for others, and the CPU time (user and system, of the whole process) is
what the route costs.

${LINES.join('\n')}

${verdict}
`,
);
console.log(verdict);
await app.close();
await store.close();
process.exitCode = slowByCpu.length === 0 ? 0 : 1;
