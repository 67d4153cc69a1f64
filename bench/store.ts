// npm run bench -- store [--records N] [--data DIR]: a list of evidence, filtered and searched, in the embedded database.
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Sqlite from 'better-sqlite3';
import { Commits } from '../src/store/embedded/commits.js';
import { openSearchMark, SearchIndex } from '../src/store/embedded/search-index.js';
import type { EvidenceFilter } from '../src/store/evidence-store.js';
import { openStore } from '../src/store/open-store.js';
import type { Store } from '../src/store/store.js';
import { makeRecord } from '../test/store/make-record.js';

const { values } = parseArgs({
  options: { records: { type: 'string', default: '1000000' }, data: { type: 'string' } },
});
const count = Number(values.records);
const data = values.data ?? mkdtempSync(join(tmpdir(), 'portcullis-bench-'));

let state = 12345;
/** 0..1, the same in each run. */
const chance = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const syllables = 'an be con de er for ing in ion la men ness no of or pre re st ta the ti to un ver wa'.split(' ');
const words = Array.from({ length: 20_000 }, () =>
  Array.from({ length: 1 + Math.floor(chance() * 4) }, () => syllables[Math.floor(chance() * syllables.length)]).join(
    '',
  ),
);
/** Few words often, many seldom, as in a language. */
const word = (): string => words[Math.floor(words.length * chance() ** 3)] ?? '';
const text = (length: number): string => Array.from({ length }, word).join(' ');

const fill = async (store: Store): Promise<void> => {
  const accounts = [await store.accounts.create('Large', 'scale'), await store.accounts.create('Small', 'scale')];
  const from = Date.UTC(2026, 7, 1);
  const step = (90 * 86_400_000) / count;
  const started = performance.now();
  for (let i = 0; i < count; i += 512) {
    const batch = Array.from({ length: Math.min(512, count - i) }, (_, k) => {
      const rule = chance() < 0.02 ? `family.rule-${Math.floor(chance() * 50)}` : 'none';
      return makeRecord({
        accountId: accounts[chance() < 0.001 ? 1 : 0]?.id ?? '',
        keyId: `key_${Math.floor(chance() * 5)}`,
        time: from + (i + k) * step,
        text: `${text(20 + Math.floor(chance() * 60))}${i + k === 7 ? ' zyzzyva' : ''}`,
        rule,
        decidedBy: chance() < 0.05 ? 'ml' : 'rules',
        routerLevel: chance() < 0.05 ? 'advanced' : 'rules',
      });
    });
    await Promise.all(batch.map((it) => store.evidence.append(it)));
    if (i % 102_400 === 0) console.log(`${i} records, ${((performance.now() - started) / 1000).toFixed(0)} s`);
  }
  const db = new Sqlite(join(data, 'portcullis.db'));
  const mark = openSearchMark(db);
  const commits = new Commits(db, { sync: async () => undefined, onFull: () => undefined, buffers: [mark] });
  const before = performance.now();
  await new SearchIndex(db, commits, mark).drain();
  console.log(
    `written in ${Math.round((before - started) / 1000)} s, indexed in ${Math.round((performance.now() - before) / 1000)} s`,
  );
  db.close();
};

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

const fresh = !existsSync(join(data, 'portcullis.db'));
const store = await openStore({ data });
if (fresh) await fill(store);
const [large, small] = await store.accounts.list();
const DAY = 86_400_000;
const middle = Date.UTC(2026, 8, 15);
const cases: readonly (readonly [string, string | undefined, () => EvidenceFilter])[] = [
  ['list', large?.id, () => ({})],
  ['blocks', large?.id, () => ({ verdict: 'block' })],
  ['a rule', large?.id, () => ({ rule: `family.rule-${Math.floor(chance() * 50)}` })],
  ['a rule that never was', large?.id, () => ({ rule: 'family.never' })],
  [
    'model decided, a key, a week',
    large?.id,
    () => ({ decidedBy: 'ml', keyId: 'key_1', from: middle, to: middle + 7 * DAY }),
  ],
  ['a key that never was', large?.id, () => ({ keyId: 'key_9' })],
  ['a day', large?.id, () => ({ from: middle + Math.floor(chance() * 40) * DAY, to: middle + 50 * DAY })],
  ['a word', large?.id, () => ({ text: word().padEnd(3, ' ') })],
  ['two words', large?.id, () => ({ text: `${word()} ${word()}` })],
  ['a word that stands once', large?.id, () => ({ text: 'zyzzyva' })],
  ['a text that never was', large?.id, () => ({ text: text(6) })],
  ['a word in blocks of a rule', large?.id, () => ({ text: word().padEnd(3, ' '), rule: 'family.rule-7' })],
  ['a word, a small account', small?.id, () => ({ text: word().padEnd(3, ' ') })],
];
const ROUNDS = 60;
for (const [name, accountId, filter] of cases) {
  const times: number[] = [];
  let found = 0;
  for (let i = 0; i < ROUNDS; i += 1) {
    const asked = filter();
    const started = performance.now();
    const page = await store.evidence.list(accountId ?? '', asked, null, 50);
    times.push(performance.now() - started);
    found += page.records.length;
  }
  times.sort((a, b) => a - b);
  const [p50, p95, most] = [0.5, 0.95, 1].map((part) => percentile(times, part).toFixed(1));
  console.log(
    `${name.padEnd(32)} p50 ${p50} ms  p95 ${p95} ms  max ${most} ms  (n ${ROUNDS}, ${(found / ROUNDS).toFixed(1)} records a page)`,
  );
}
// A deep page: the last ones.
let cursor: string | null = null;
let deepest = 0;
for (let i = 0; i < 20; i += 1) {
  const started = performance.now();
  const page: Awaited<ReturnType<Store['evidence']['list']>> = await store.evidence.list(
    large?.id ?? '',
    { to: Date.UTC(2026, 7, 2) },
    cursor,
    50,
  );
  deepest = Math.max(deepest, performance.now() - started);
  cursor = page.next;
}
console.log(`pages at the old end: max ${deepest.toFixed(1)} ms`);
await store.close();
console.log(`data: ${data}`);
