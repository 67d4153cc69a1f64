import { afterEach, expect, it, vi } from 'vitest';
import { Admission, type Place } from '../../../src/service/http/admission.js';
import { KEY, OTHER_KEY, testApp } from '../test-app.js';

let time = 0;
const admission = () => new Admission({ calls: 1_000, callsPerAccount: 250, now: () => time });

/** Short calls of an account: their places, and how many have had their turn. */
function callsOf(all: Admission, account: string, count: number) {
  const begun = new Set<Place>();
  const gaveUp = new Set<Place>();
  const places = Array.from({ length: count }, () => {
    const place = all.enter(account);
    const admitted = place.begin();
    if (admitted === undefined) begun.add(place);
    else
      admitted.then(
        () => begun.add(place),
        () => gaveUp.add(place),
      );
    return place;
  });
  return { places, begun, gaveUp };
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  time = 0;
});

it('an account alone has all its calls worked on; beside another one its share, in order', async () => {
  const one = admission();
  expect(callsOf(one, 'alone', 200).begun.size).toBe(200);
  const both = admission();
  const quiet = callsOf(both, 'quiet', 1);
  const noisy = callsOf(both, 'noisy', 200);
  expect([quiet.begun.size, noisy.begun.size]).toEqual([1, 16]);
  expect(callsOf(both, 'quiet', 8).begun.size).toBe(8);
  for (const place of noisy.places.slice(0, 10)) place.leave();
  await settle();
  expect([...noisy.begun]).toEqual(noisy.places.slice(0, 26));
});

it('shares get smaller with more accounts, but not too small', () => {
  const many = admission();
  for (let at = 0; at < 40; at++) many.enter(`account ${at}`);
  expect(callsOf(many, 'noisy', 100).begun.size).toBe(8);
});

it('an account that called a moment ago still has its share', async () => {
  const both = admission();
  callsOf(both, 'quiet', 1).places[0]?.leave();
  expect(callsOf(both, 'noisy', 100).begun.size).toBe(16);
  const later = admission();
  callsOf(later, 'quiet', 1).places[0]?.leave();
  time = 1_001;
  const noisy = callsOf(later, 'noisy', 100);
  expect(noisy.begun.size).toBe(100);
});

it('a call that leaves while it waits makes no other wait, and all that waited begin once the account is alone', async () => {
  const both = admission();
  const quiet = callsOf(both, 'quiet', 1);
  const noisy = callsOf(both, 'noisy', 200);
  for (const place of noisy.places.slice(16, 100)) {
    place.leave();
    place.leave();
  }
  await settle();
  expect([noisy.begun.size, noisy.gaveUp.size]).toEqual([16, 84]);
  quiet.places[0]?.leave();
  time = 2_000;
  noisy.places[0]?.leave();
  await settle();
  expect(noisy.begun.size).toBe(200 - 84);
  for (const place of noisy.places) place.leave();
  // Nothing is left of it: all places are free again.
  expect(callsOf(both, 'other', 250).begun.size).toBeGreaterThan(0);
  expect(() => both.enter('other')).toThrow('Too many calls of this account');
});

it('a call that has left gets no turn', async () => {
  const both = admission();
  callsOf(both, 'quiet', 1);
  const noisy = callsOf(both, 'noisy', 1);
  for (let at = 0; at < 100; at++) {
    const place = both.enter('noisy');
    place.leave();
    await expect(place.begin()).rejects.toThrow('The caller left');
  }
  expect(noisy.begun.size + callsOf(both, 'noisy', 15).begun.size).toBe(16);
});

it('the calls of a flood beyond the share wait for their turn, are answered and counted once, and let others pass', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const scored: string[] = [];
  const app = await testApp();
  const { append, appendCounted } = app.store.evidence;
  const noting = <T extends unknown[], R>(write: (record: { readonly account_id: string }, ...rest: T) => Promise<R>) =>
    vi.fn(async (record: { readonly account_id: string }, ...rest: T) => {
      scored.push(record.account_id);
      await gate;
      return write(record, ...rest);
    });
  Object.assign(app.store.evidence, { append: noting(append as never), appendCounted: noting(appendCounted as never) });
  const first = app.post({ input: 'quiet' }, { headers: { authorization: `Bearer ${OTHER_KEY}` } });
  await vi.waitFor(() => expect(scored.length).toBe(1));
  const flood = Array.from({ length: 100 }, (_, at) =>
    app.post({ input: `noise ${at}` }, { headers: { authorization: `Bearer ${KEY}` } }),
  );
  await vi.waitFor(() => expect(scored.length).toBe(17));
  const second = app.post({ input: 'quiet too' }, { headers: { authorization: `Bearer ${OTHER_KEY}` } });
  await vi.waitFor(() => expect(scored.length).toBe(18));
  expect(scored.filter((account) => account === scored[0])).toHaveLength(2);
  open();
  const responses = await Promise.all([first, ...flood, second]);
  expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(app.store.records.size).toBe(102);
});
