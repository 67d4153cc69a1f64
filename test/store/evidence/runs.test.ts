import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTextMemory, runTextsOf } from '../../../src/service/screening/run-texts.js';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';
import { makeRecord } from '../make-record.js';

const DAY_MS = 24 * 3_600_000;

describe.each(allDatabases)('runs on $name', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let at = Date.UTC(2026, 10, 24);
  beforeAll(async () => {
    database = await make();
    store = await database.open({ now: () => at });
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });
  const entry = (name: string, length = 2) => ({ name, line: `"${'x'.repeat(length)}${name}"` });
  const names = async (account: string, run: string) =>
    (await store.runs.read(account, run)).entries.map((line) => line.replace(/["x]/g, ''));

  it('keeps entries once, in their order, by account, with a secret that stays', async () => {
    await store.runs.add('a', 'r', [entry('1')]);
    at += 1;
    await store.runs.add('a', 'r', [entry('2'), entry('1', 9)]);
    await store.runs.add('a', 'r', []);
    expect(await names('a', 'r')).toEqual(['1', '2']);
    expect(await names('b', 'r')).toEqual([]);
    const { seed } = await store.runs.read('a', 'r');
    expect([await store.runs.read('a', 'r'), await store.runs.read('b', 'r')]).toMatchObject([
      { seed },
      { seed: expect.any(Number) },
    ]);
    expect((await store.runs.read('b', 'r')).seed).not.toBe(seed);
    expect((await store.runs.read('a', 'r2')).seed).not.toBe(seed);
  });

  it('keeps texts beside the entries, in the order in which they were added, whatever the clock says', async () => {
    const read = (name: string, text = name) => ({ kind: 'read', name, text }) as const;
    const said = (name: string) => ({ kind: 'said', name, text: name }) as const;
    const texts = async (account = 'texts') => (await store.runs.readTexts(account, 'r')).map(({ text }) => text);
    await store.runs.add('texts', 'r', [entry('1')]);
    await store.runs.addText('texts', 'r', said('hello: you'));
    for (const name of ['b', 'a']) await store.runs.addText('texts', 'r', read(name));
    at -= 10;
    await store.runs.addText('texts', 'r', read('c'));
    await store.runs.addText('texts', 'r', read('b', 'again'));
    at += 10;
    const [first, ...others] = await store.runs.readTexts('texts', 'r', 'b');
    expect(others.map(({ kind, name, text }) => [kind, name === 'b', text])).toEqual([
      ['read', true, 'b'],
      ['read', false, 'a'],
      ['read', false, 'c'],
    ]);
    // Kept under a key: the digest of a short text would give it away.
    expect(first).toEqual({ ...said('hello: you'), name: expect.stringMatching(/^[\da-f]{64}$/) });
    expect([await names('texts', 'r'), await texts('b')]).toEqual([['1'], []]);
    await store.runs.addText('texts', 'r', said('then'));
    await store.runs.addText('texts', 'r', said('hello: you'));
    expect(await texts()).toEqual(['b', 'a', 'c', 'then', 'hello: you']);
    const task = '["hello",\n"then \0"]';
    for (const given of [task, 'another']) await store.runs.addText('texts', 'r', { ...read('with'), task: given });
    expect((await store.runs.readTexts('texts', 'r', 'with')).at(-1)).toEqual({ ...read('with'), task });
    for (let index = 0; index < 40; index += 1) await store.runs.addText('texts', 'r', read(`r${index}`));
    expect((await texts()).slice(0, 3)).toEqual(['then', 'hello: you', 'r8']);
    for (let index = 0; index < 10; index += 1) await store.runs.addText('texts', 'r', said(`s${index}`));
    expect(await texts()).toHaveLength(32 + 8);
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => store.runs.addText('texts', 'at once', read(`${index}`))),
    );
    expect(await store.runs.readTexts('texts', 'at once')).toHaveLength(8);
  });

  it.each(['whole', 'hash'] as const)('a result that was read stays as it is, with its task (%s)', async (keep) => {
    const texts = runTextsOf(store.runs, runTextMemory(), { accountId: 'stays', keep });
    const read = (name: string, task: string) => ({ kind: 'read', name, text: name, task }) as const;
    for (const text of [read('a', 'T1'), read('b', 'T1'), read('a', 'T2')]) await texts.add('r', text);
    expect((await texts.read('r')).map(({ text, task }) => [text, task])).toEqual([
      ['a', 'T1'],
      ['b', 'T1'],
    ]);
  });

  it('keeps a task once for all that was read with it, as long as one of them is kept', async () => {
    const [long, other] = ['x'.repeat(4_000), 'y'.repeat(4_000)];
    let count = 0;
    const read = async (task: string, times: number) => {
      for (const end = count + times; count < end; count += 1)
        await store.runs.addText('tasks', 'r', { kind: 'read', name: `${count}`, text: `${count}`, task });
    };
    const tasks = async () => (await store.runs.readTexts('tasks', 'r')).map(({ task }) => task);
    await store.runs.add('tasks', 'r', [entry('1', 420_000)]);
    at += 1;
    await read(long, 32);
    await read(other, 1);
    await read(long, 31);
    expect([await names('tasks', 'r'), await tasks()]).toEqual([['1'], [other, ...Array(31).fill(long)]]);
    await read(long, 1);
    expect(await tasks()).toEqual(Array(32).fill(long));
    for (let index = 0; index < 60; index += 1) await read(`${index}${'z'.repeat(2_000)}`, 1);
    expect([await names('tasks', 'r'), new Set(await tasks()).size]).toEqual([['1'], 32]);
  });

  it('reads texts that were stored as they are', async () => {
    const plain = ['It ends: "here".', '17', '{"text":2}', 'null'];
    await store.runs.add(
      'plain',
      'r',
      plain.map((line, index) => ({ name: `read:${index}`, line })),
    );
    expect(await store.runs.readTexts('plain', 'r')).toEqual(
      plain.map((text, index) => ({ kind: 'read', name: `${index}`, text })),
    );
  });

  it('loses nothing of entries that come at once', async () => {
    await Promise.all(Array.from({ length: 40 }, (_, index) => store.runs.add('at-once', 'r', [entry(`${index}`)])));
    expect(new Set(await names('at-once', 'r')).size).toBe(40);
  });

  it('bounds a run by its entries and bytes, and an account: the oldest go', async () => {
    const many = (from: number, count: number) => Array.from({ length: count }, (_, index) => entry(`${from + index}`));
    await store.runs.add('m', 'r', many(0, 600));
    at += 1;
    await store.runs.add('m', 'r', many(600, 600));
    expect((await names('m', 'r')).length).toBe(1_000);
    for (let index = 0; index < 8; index += 1) {
      at += 1;
      await store.runs.add('m', 'large', [entry(`${index}`, 200_000)]);
    }
    expect(await names('m', 'large')).toEqual(['6', '7']);
    for (let run = 0; run < 64; run += 1) {
      at += 1;
      await store.runs.add('m', `r${run}`, many(0, 500));
    }
    const kept = await Promise.all(Array.from({ length: 64 }, (_, run) => names('m', `r${run}`)));
    expect(kept.flat().length).toBeLessThanOrEqual(20_000 + 15 * 500);
    expect(kept.at(-1)?.length).toBe(500);
    expect(await names('a', 'r')).toEqual(['1', '2']);
  });

  it('deletes many entries in steps that take turns with other long work', async () => {
    let steps = 0;
    const other = await database.open({
      now: () => at,
      longWork: async (_tenant, _cost, step) => {
        steps += 1;
        return step();
      },
    });
    const small = Array.from({ length: 1_000 }, (_, index) => entry(`${index}`));
    for (let run = 0; run < 12; run += 1) {
      at += 1;
      await other.runs.add('steps', `r${run}`, small);
    }
    expect(steps).toBe(0);
    at += 1;
    const large = Array.from({ length: 16 }, (_, index) => entry(`${index}`, 2 ** 21));
    for (const one of large) await other.runs.add('steps', `large ${one.name}`, [one]);
    expect(steps).toBeGreaterThan(10);
    expect(await names('steps', 'r11')).toEqual([]);
    const kept = await Promise.all(large.map(({ name }) => names('steps', `large ${name}`)));
    expect(kept.flat()).toHaveLength(15);
    await other.close();
  });

  it('counts the entries of each account by themselves', async () => {
    const many = Array.from({ length: 16 }, (_, index) => entry(`${index}`));
    for (let index = 0; index < 16; index += 1) {
      at += 1;
      await store.runs.add('own', `r${index}`, [entry('1', 2 ** 21)]);
      if (index % 5 === 4) await store.runs.add('other', `r${index}`, many);
    }
    expect(await Promise.all(['r0', 'r1', 'r15'].map((run) => names('own', run)))).toEqual([[], ['1'], ['1']]);
  });

  it('reads a run in the same time, whatever else its account has', async () => {
    const timeOf = async (account: string): Promise<number> => {
      const started = performance.now();
      for (let index = 0; index < 10; index += 1) await store.runs.read(account, 'none');
      return performance.now() - started;
    };
    const times = { m: [] as number[], nobody: [] as number[] };
    for (let turn = 0; turn < 5; turn += 1) {
      times.m.push(await timeOf('m'));
      times.nobody.push(await timeOf('nobody'));
    }
    expect(Math.min(...times.m)).toBeLessThan(5 * Math.min(...times.nobody));
  });

  it('forgets what is old', async () => {
    await store.runs.purge(at - DAY_MS);
    expect(await names('a', 'r')).toEqual(['1', '2']);
    await store.runs.purge(at + 1);
    expect([await names('a', 'r'), await names('m', 'r63')]).toEqual([[], []]);
  });

  it('lists the records of a run, alone and with another filter', async () => {
    const { id } = await store.accounts.create('runs', 'trial');
    const records = ['one', 'two', 'one', undefined].map((run, index) => ({
      ...makeRecord({ accountId: id, time: at + index }),
      ...(run === undefined ? {} : { run: { id: run } }),
    }));
    for (const record of records) await store.evidence.append(record as never);
    const listed = async (filter: object) =>
      (await store.evidence.list(id, filter, null, 10)).records.map((record) => record.id);
    expect(await listed({ run: 'one' })).toEqual([records[2]?.id, records[0]?.id]);
    expect(await listed({ run: 'one', rule: 'none' })).toEqual(
      records
        .filter(({ run, verdict }) => run?.id === 'one' && verdict.rule === 'none')
        .map(({ id }) => id)
        .reverse(),
    );
    expect(await listed({ run: 'three' })).toEqual([]);
    expect((await listed({})).length).toBe(4);
  });
});
