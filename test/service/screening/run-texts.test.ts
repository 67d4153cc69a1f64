import { expect, it, vi } from 'vitest';
import { readEnds } from '../../../src/policy/run/pieces/joints.js';
import { joinLogged, sayLogged } from '../../../src/policy/run/pieces/run-texts.js';
import { runTextMemory, runTextsOf } from '../../../src/service/screening/run-texts.js';
import { collectGarbage } from '../../collect-garbage.js';
import { memoryStore } from '../memory-store.js';

const said = (text: string) => ({ kind: 'said', name: text, text }) as const;
const read = (text: string) => ({ kind: 'read', name: text, text }) as const;
/** Room for ten runs with a text of nine characters each. */
const TEN = 100;

it('an account with many runs pushes out its own texts, not those of others', () => {
  const memory = runTextMemory(TEN);
  const known = (account: string, runs: number) =>
    Array.from({ length: runs }, (_, at) => memory.read(account, `${at}`).map(({ text }) => text)).flat();
  for (let at = 0; at < 3; at++) memory.add('quiet', `${at}`, said(`quiet  ${at}.`));
  for (let at = 0; at < 100; at++) memory.add('loud', `${at}`, said(`loud   ${String(at).padStart(2, '0')}`));
  expect(known('quiet', 3)).toEqual(['quiet  0.', 'quiet  1.', 'quiet  2.']);
  expect(known('loud', 100)).toEqual([93, 94, 95, 96, 97, 98, 99].map((at) => `loud   ${at}`));
  for (let at = 0; at < 5; at++) memory.add('third', `${at}`, said(`third  ${at}.`));
  expect(known('quiet', 3)).toHaveLength(3);
  memory.add('third', '9', said('x'.repeat(39)));
  expect([known('quiet', 3).length, memory.read('third', '9').length]).toEqual([3, 1]);
});

it('texts that have expired count for nothing', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1);
  try {
    const memory = runTextMemory(TEN / 2);
    for (const account of ['a', 'b', 'c', 'd', 'e']) memory.add(account, 's', said('old      '));
    memory.add('f', 's', said('of f     '));
    expect(memory.read('f', 's')).toEqual([said('of f     ')]);
    now.mockReturnValue(13 * 3_600_000);
    // The cache looks at the clock once in a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 10));
    for (const run of ['1', '2', '3', '4', '5']) memory.add('new', run, said(`of run ${run}.`));
    expect(['1', '2', '3', '4', '5'].flatMap((run) => memory.read('new', run))).toHaveLength(5);
  } finally {
    now.mockRestore();
  }
});

it('keeps the newest texts of a kind, each once, and another account has none', () => {
  const memory = runTextMemory();
  memory.add('a', 'r', said('Sum up my mail.'));
  for (let at = 0; at < 40; at++) memory.add('a', 'r', read(`mail ${at}`));
  memory.add('a', 'r', said('And then?'));
  memory.add('a', 'r', said('Sum up my mail.'));
  const texts = memory.read('a', 'r').map(({ text }) => text);
  expect([texts.length, texts[0]]).toEqual([18, 'mail 24']);
  expect(texts.slice(-3)).toEqual(['mail 39', 'And then?', 'Sum up my mail.']);
  expect(memory.read('b', 'r')).toEqual([]);
});

it('bounds the runs of an account, however little each says', () => {
  const memory = runTextMemory();
  for (let at = 0; at < 5_000; at++) memory.add('a', `${at}`, said('x'));
  expect([memory.read('a', '0'), memory.read('a', '4999')]).toEqual([[], [said('x')]]);
});

it('bounds what it keeps by its length', () => {
  const memory = runTextMemory();
  const before = collectGarbage();
  for (let at = 0; at < 100; at++) memory.add('a', `${at}`, said(structuredClone('x'.repeat(1_000_000))));
  expect(collectGarbage() - before).toBeLessThan(30_000_000);
  expect(memory.read('a', '99')).toHaveLength(1);
});

it('keeps nothing alive of a long turn or result but what counts', async () => {
  const texts = runTextsOf(memoryStore().runs, runTextMemory(), { accountId: 'a', keep: 'hash' });
  const before = collectGarbage();
  for (let at = 0; at < 40; at++) {
    for (let turn = 0; turn < 5; turn++)
      await sayLogged(texts, `${at}`, `Turn ${turn} of ${at}. ${'x'.repeat(1_000_000)} ${turn}`);
    for (let result = 0; result < 10; result++)
      await joinLogged(texts, `${at}`, readEnds(`Result ${result} of ${at}. ${'y'.repeat(100_000)}`));
  }
  expect(collectGarbage() - before).toBeLessThan(5_000_000);
  const lengths = (await texts.read('0')).map(({ text, start = '', task = '' }) =>
    [text, start, task].map((part) => part.length),
  );
  expect(lengths).toEqual([...Array(5).fill([4_000, 0, 0]), ...Array(10).fill([300, 300, 4_000])]);
});
