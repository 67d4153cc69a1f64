import { expect, it, vi } from 'vitest';
import { cropTask } from '../../../src/engine/input.js';
import { sessionPrompts } from '../../../src/service/screening/session-prompts.js';
import { collectGarbage } from '../../collect-garbage.js';

it('an account with many sessions pushes out its own prompts, not those of others', () => {
  const prompts = sessionPrompts(10);
  for (const session of ['1', '2', '3']) prompts.set('quiet', session, `quiet ${session}`);
  for (let at = 0; at < 100; at++) prompts.set('loud', `${at}`, `loud ${at}`);
  expect(['1', '2', '3'].map((session) => prompts.get('quiet', session))).toEqual(['quiet 1', 'quiet 2', 'quiet 3']);
  const kept = Array.from({ length: 100 }, (_, at) => prompts.get('loud', `${at}`) ?? []).flat();
  expect(kept).toEqual([93, 94, 95, 96, 97, 98, 99].map((at) => `loud ${at}`));
  for (let at = 0; at < 5; at++) prompts.set('third', `${at}`, 'third');
  expect(['1', '2', '3'].map((session) => prompts.get('quiet', session))).not.toContain(undefined);
});

it('prompts that have expired count for nothing', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1);
  try {
    const prompts = sessionPrompts(5);
    for (const account of ['a', 'b', 'c', 'd', 'e']) prompts.set(account, 's', 'old');
    prompts.set('f', 's', 'pushes out one of another account');
    expect(prompts.get('f', 's')).toBe('pushes out one of another account');
    now.mockReturnValue(13 * 3_600_000);
    // The cache looks at the clock once in a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 10));
    for (const session of ['1', '2', '3', '4', '5']) prompts.set('new', session, session);
    expect(['1', '2', '3', '4', '5'].map((session) => prompts.get('new', session))).not.toContain(undefined);
  } finally {
    now.mockRestore();
  }
});

it('a prompt that does not count is forgotten, and another account has none', () => {
  const prompts = sessionPrompts();
  prompts.set('a', 's', 'Sum up my mail.');
  expect([prompts.get('a', 's'), prompts.get('b', 's')]).toEqual(['Sum up my mail.', undefined]);
  prompts.set('a', 's', undefined);
  expect(prompts.get('a', 's')).toBeUndefined();
});

it('keeps no more of a long prompt than counts', () => {
  const prompts = sessionPrompts();
  const before = collectGarbage();
  for (let at = 0; at < 20; at++) prompts.set('a', `${at}`, cropTask(structuredClone('x'.repeat(1_000_000))));
  expect(collectGarbage() - before).toBeLessThan(5_000_000);
  expect(prompts.get('a', '0')).toHaveLength(4_000);
});
