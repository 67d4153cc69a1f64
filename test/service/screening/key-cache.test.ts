import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cachedKeys } from '../../../src/service/screening/key-cache.js';
import { collectGarbage } from '../../collect-garbage.js';

it('keeps owners no longer than it believes them: each may have a long policy', async () => {
  const found: WeakRef<object>[] = [];
  const find = cachedKeys(
    async () => {
      const owner = { policy: 'x'.repeat(1_000) };
      found.push(new WeakRef(owner));
      return owner;
    },
    () => performance.now(),
  );
  for (let key = 0; key < 100; key += 1) await find(`key ${key}`);
  await sleep(1_000);
  collectGarbage();
  expect(found.filter((owner) => owner.deref() !== undefined).length).toBeLessThan(2);
});
