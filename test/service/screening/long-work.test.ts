import { expect, it } from 'vitest';
import { keepInput } from '../../../src/evidence/keep-input.js';
import { createLongWork } from '../../../src/service/screening/fair-limit.js';
import { KEY, testApp } from '../test-app.js';

it('takes the tenants in turn, whoever came first with how much', async () => {
  const longWork = createLongWork();
  const order: string[] = [];
  await Promise.all(
    ['loud', 'loud', 'loud', 'loud', 'quiet', 'quiet'].map((tenant, at) =>
      longWork(tenant, 1_000, () => order.push(`${tenant} ${at}`)),
    ),
  );
  expect(order).toEqual(['loud 0', 'quiet 4', 'loud 1', 'quiet 5', 'loud 2', 'loud 3']);
});

it('lets short work go on between the steps, and a step that fails fails alone', async () => {
  const longWork = createLongWork();
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const seen = await Promise.allSettled(
    Array.from({ length: 10 }, (_, at) =>
      longWork('loud', 1_000, () => {
        if (at === 3) throw new Error('no such step');
        return turns;
      }),
    ),
  );
  clearInterval(timer);
  expect(seen.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  const values = seen.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
  expect(new Set(values).size, 'other work between any two steps').toBe(values.length);
});

it('a step that gives a promise ends with it', async () => {
  const longWork = createLongWork();
  const order: string[] = [];
  const slow = longWork('a', 1, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push('slow');
  });
  const failed = longWork('b', 1, async () => Promise.reject(new Error('no such step')));
  const next = longWork('c', 1, () => order.push('next'));
  await expect(failed).rejects.toThrow('no such step');
  await Promise.all([slow, next]);
  expect(order).toEqual(['slow', 'next']);
});

it('screens and stores a long input as it does a short one', async () => {
  const it = await testApp();
  const input = { z: 1, a: Array.from({ length: 5_000 }, (_, at) => `value ${at}`), __proto: 'p' };
  const response = await it.post({ input });
  expect(response.statusCode).toBe(200);
  const record = it.store.records.get(response.json().evidence_id);
  const text = JSON.stringify({ __proto: input.__proto, a: input.a, z: 1 });
  expect(record?.input).toEqual(keepInput(text, true, 'whole'));
  const broken = await it.post(`{"input": "${'x'.repeat(50_000)}" oops}`);
  expect(broken.statusCode).toBe(400);
  expect(broken.json().error).toContain('position 50013');
});

it('masks a long text in steps as in one', async () => {
  const it = await testApp();
  const key = `${KEY}-masked`;
  it.store.add(key, { settings: { keep: 'masked' } });
  const text = 'password: hunter22, card 4111 1111 1111 1111, a@example.org. '.repeat(1_000);
  const response = await it.post({ input: text }, { headers: { authorization: `Bearer ${key}` } });
  const record = it.store.records.get(response.json().evidence_id);
  expect(record?.input).toEqual(keepInput(text, false, 'masked'));
  expect(record?.input.text).not.toContain('hunter22');
});
