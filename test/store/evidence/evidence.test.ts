import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvidenceRecord } from '../../../src/evidence/evidence-record.js';
import { keepText } from '../../../src/evidence/keep-input.js';
import type { Account } from '../../../src/store/account-store.js';
import type { EvidenceFilter, EvidencePage } from '../../../src/store/evidence-store.js';
import { latencyAt, latencyStep } from '../../../src/store/evidence-store.js';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';
import { makeRecord } from '../make-record.js';

const start = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;
/** Whether a test's record has a task. */
const hasTask = (i: number): boolean => i % 9 === 0 || i % 9 === 4;

describe.each(allDatabases)('evidence in $name', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let account: Account;
  let other: Account;
  let records: readonly EvidenceRecord[];

  beforeAll(async () => {
    database = await make();
    store = await database.open();
    account = await store.accounts.create('Evidence', 'pro');
    other = await store.accounts.create('Other', 'pro');
    const of = (accountId: string) =>
      Array.from({ length: 60 }, (_, i) =>
        makeRecord({
          accountId,
          keyId: i % 5 === 0 ? 'key_b' : 'key_a',
          time: start + i * MINUTE,
          // The JSON has a text with NUL in it: what looks like a task there is none.
          text: i % 4 === 0 ? `number ${i}: 100% "Quoted" Straße_x` : `number ${i}: plain "task":{"kept":\u0000`,
          rule: i % 6 === 0 ? 'override.x' : 'none',
          decidedBy: i % 10 === 0 ? 'ml-error-rules-fallback' : 'rules',
          modelVerdict: i % 10 === 0 ? 'error' : 'off',
          routerLevel: i % 7 === 0 ? 'deep' : 'rules',
          channel: (['unknown', 'user', 'tool_result'] as const)[i % 3] ?? 'unknown',
          ...(i % 9 === 0 ? { task: keepText('Translate \u0000 \ud800', 'whole') } : {}),
          ...(i % 9 === 4 ? { task: { ...keepText('Sum up', 'hash'), keyed: true } } : {}),
          latencyMs: i,
        }),
      );
    records = of(account.id);
    await Promise.all([...records, ...of(other.id)].map((it) => store.evidence.append(it)));
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  const ids = async (filter: EvidenceFilter): Promise<readonly string[]> => {
    const { records: found } = await store.evidence.list(account.id, filter, null, 500);
    return found.map((it) => it.id);
  };
  const expected = (fits: (record: EvidenceRecord, i: number) => boolean): readonly string[] =>
    records
      .filter(fits)
      .map((it) => it.id)
      .reverse();

  it('gives pages of long texts that are shorter than asked for, one after the other', async () => {
    const { id } = await store.accounts.create('Long', 'pro');
    const text = 'a long text '.repeat(90_000);
    for (let i = 0; i < 10; i += 1) await store.evidence.append(makeRecord({ accountId: id, text, time: start + i }));
    const pageSizes = async (filter: EvidenceFilter): Promise<readonly number[]> => {
      const sizes: number[] = [];
      let cursor: string | null = null;
      do {
        const page: EvidencePage = await store.evidence.list(id, filter, cursor, 500);
        sizes.push(page.records.length);
        cursor = page.next;
      } while (cursor !== null);
      return sizes;
    };
    expect(await pageSizes({})).toEqual([7, 3]);
    // A search also ends its page after a while, on a busy machine before the seventh.
    const found = await pageSizes({ text: 'long text' });
    expect(Math.max(...found)).toBeLessThanOrEqual(7);
    expect(found.reduce((sum, size) => sum + size)).toBe(10);
  });

  it('gives a record back as it was', async () => {
    for (const record of records) expect(await store.evidence.get(account.id, record.id)).toEqual(record);
  });

  it.each([
    ['nothing', {}, () => true],
    ['block', { verdict: 'block' }, (_, i) => i % 6 === 0],
    ['allow', { verdict: 'allow' }, (_, i) => i % 6 !== 0],
    ['rule', { rule: 'override.x' }, (_, i) => i % 6 === 0],
    ['no rule', { rule: 'none' }, (_, i) => i % 6 !== 0],
    ['another rule', { rule: 'override.y' }, () => false],
    ['decided by', { decidedBy: 'ml-error-rules-fallback' }, (_, i) => i % 10 === 0],
    ['decided by the rules', { decidedBy: 'rules' }, (_, i) => i % 10 !== 0],
    ['level', { routerLevel: 'deep' }, (_, i) => i % 7 === 0],
    ['key', { keyId: 'key_b' }, (_, i) => i % 5 === 0],
    ['channel', { channel: 'tool_result' }, (_, i) => i % 3 === 2],
    ['no channel', { channel: 'unknown' }, (_, i) => i % 3 === 0],
    ['channel of blocks', { channel: 'unknown', verdict: 'block' }, (_, i) => i % 6 === 0],
    ['channel and key', { channel: 'tool_result', keyId: 'key_b' }, (_, i) => i % 3 === 2 && i % 5 === 0],
    ['channel and text', { channel: 'tool_result', text: 'plain' }, (_, i) => i % 3 === 2 && i % 4 !== 0],
    ['another channel', { channel: 'document' }, () => false],
    ['a task, whatever is kept of it', { hasTask: true }, (_, i) => hasTask(i)],
    ['no task', { hasTask: false }, (_, i) => !hasTask(i)],
    ['task of blocks', { hasTask: true, verdict: 'block' }, (_, i) => hasTask(i) && i % 6 === 0],
    ['task and channel', { hasTask: true, channel: 'tool_result' }, (_, i) => hasTask(i) && i % 3 === 2],
    ['no task, and channel', { hasTask: false, channel: 'user' }, (_, i) => !hasTask(i) && i % 3 === 1],
    ['task and text', { hasTask: true, text: 'plain' }, (_, i) => hasTask(i) && i % 4 !== 0],
    ['from', { from: start + 50 * MINUTE }, (_, i) => i >= 50],
    ['to', { to: start + 10 * MINUTE }, (_, i) => i < 10],
    ['text in other case', { text: 'quoted' }, (_, i) => i % 4 === 0],
    ['text with signs', { text: '0% "quo' }, (_, i) => i % 4 === 0],
    ['text with signs of patterns', { text: 'e_x' }, (_, i) => i % 4 === 0],
    ['a sign is no pattern', { text: '1%0' }, () => false],
    ['text that is nowhere', { text: 'nowhere' }, () => false],
    ['operators are text', { text: 'number OR plain' }, () => false],
    ['many', { text: 'plain', verdict: 'block', from: start + MINUTE }, (_, i) => i % 4 !== 0 && i % 6 === 0],
  ] satisfies readonly [string, EvidenceFilter, (record: EvidenceRecord, i: number) => boolean][])(
    'filters: %s',
    async (_, filter, fits) => {
      expect(await ids(filter)).toEqual(expected(fits));
    },
  );

  it.each([{}, { text: 'number' }, { verdict: 'allow' as const }, { hasTask: true }, { hasTask: false }])(
    'pages without a gap or a repeat: %j',
    async (filter) => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<Store['evidence']['list']>> = await store.evidence.list(
          account.id,
          filter,
          cursor,
          7,
        );
        seen.push(...page.records.map((it) => it.id));
        cursor = page.next;
        // Arrives at the top: it must not move what follows.
        const late = makeRecord({
          accountId: account.id,
          time: start + 1000 * MINUTE,
          text: 'late number',
          label: 'false_alarm',
        });
        await store.evidence.append(late);
      } while (cursor !== null);
      expect(seen.filter((id) => records.some((it) => it.id === id))).toEqual(
        expected(
          (_, i) =>
            (!('verdict' in filter) || i % 6 !== 0) && (!('hasTask' in filter) || filter.hasTask === hasTask(i)),
        ),
      );
      const iterated: string[] = [];
      for await (const it of store.evidence.iterate(account.id, { ...filter, to: start + 60 * MINUTE }))
        iterated.push(it.id);
      expect(iterated).toEqual(seen.filter((id) => records.some((it) => it.id === id)));
    },
  );

  it("reaches nothing of another account's", async () => {
    const [record] = records;
    expect(await store.evidence.get(other.id, record?.id ?? '')).toBeUndefined();
    await expect(store.evidence.label(other.id, record?.id ?? '', 'false_alarm')).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    });
    const theirs = await store.evidence.list(other.id, { text: 'number' }, null, 500);
    expect(theirs.records).toHaveLength(60);
    expect(theirs.records.every((it) => it.account_id === other.id)).toBe(true);
  });

  it('labels, filters by label, and takes labels off', async () => {
    const [first, second] = records;
    await store.evidence.label(account.id, first?.id ?? '', 'missed_attack');
    await store.evidence.label(account.id, second?.id ?? '', 'missed_attack');
    await store.evidence.label(account.id, second?.id ?? '', null);
    expect(await ids({ label: 'missed_attack' })).toEqual([first?.id]);
    expect((await store.evidence.get(account.id, first?.id ?? ''))?.label).toBe('missed_attack');
  });

  it('counts by hour and by day', async () => {
    const day = Date.UTC(2026, 10, 21);
    const byHour = await store.evidence.counts(other.id, start, start + 60 * MINUTE, 'hour');
    expect(byHour).toEqual([
      { at: start, rule: 'none', calls: 50, blocks: 0, modelErrors: 4 },
      { at: start, rule: 'override.x', calls: 10, blocks: 10, modelErrors: 2 },
    ]);
    expect(
      (await store.evidence.counts(other.id, day, day + 86_400_000, 'day')).map((it) => [it.at, it.calls]),
    ).toEqual([
      [day, 50],
      [day, 10],
    ]);
    expect(await store.evidence.counts(other.id, day, start, 'day')).toEqual([]);
  });

  it('counts latencies by step', async () => {
    const found = await store.evidence.latencies(other.id, start, start + 60 * MINUTE, 'hour');
    expect(found.reduce((sum, { calls }) => sum + calls, 0)).toBe(60);
    expect(found.slice(0, 3)).toEqual([0, 1, 2].map((step) => ({ at: start, step, calls: 1 })));
    for (const { step, calls } of found) {
      const within = Array.from({ length: 60 }, (_, ms) => ms).filter((ms) => latencyStep(ms) === step);
      expect(calls).toBe(within.length);
      for (const ms of within) expect(Math.abs(latencyAt(step) - ms)).toBeLessThanOrEqual(0.05 * ms);
    }
    expect(await store.evidence.latencies(other.id, start + 60 * MINUTE, start + 120 * MINUTE, 'day')).toEqual([]);
  });

  it('counts by versions, labels too', async () => {
    const counted = await store.accounts.create('Counted', 'pro');
    const made = [0, 1, 2].map((i) =>
      makeRecord({ accountId: counted.id, time: start + i, rule: i === 0 ? 'none' : 'override.x' }),
    );
    for (const record of made) await store.evidence.append(record);
    const newer = makeRecord({ accountId: counted.id, time: start + 9 });
    const verdict = { ...newer.verdict, rules_version: '2.0.0+0123456789ab' };
    await store.evidence.append({ ...newer, verdict });
    for (const label of ['missed_attack', 'false_alarm', 'false_alarm'] as const)
      await store.evidence.label(counted.id, made[1]?.id ?? '', label);
    await store.evidence.label(counted.id, made[0]?.id ?? '', 'missed_attack');
    await store.evidence.label(counted.id, made[0]?.id ?? '', null);
    const versions = [...(await store.evidence.versions(counted.id))].sort((a, b) => a.firstAt - b.firstAt);
    const old = { rulesVersion: '1.0.0+0123456789ab', mlVersion: 'off', missedAttacks: 0 };
    expect(versions).toEqual([
      { ...old, rule: 'none', firstAt: start, lastAt: start, calls: 1, blocks: 0, falseAlarms: 0 },
      { ...old, rule: 'override.x', firstAt: start + 1, lastAt: start + 2, calls: 2, blocks: 2, falseAlarms: 1 },
      {
        ...{ ...old, rulesVersion: verdict.rules_version, rule: 'none', firstAt: start + 9, lastAt: start + 9 },
        ...{ calls: 1, blocks: 0, falseAlarms: 0 },
      },
    ]);
    expect(await store.evidence.versions('acct_none')).toEqual([]);
    const unlabelled = await store.evidence.list(counted.id, { label: null }, null, 10);
    expect(unlabelled.records.map(({ id }) => id)).toEqual([newer.id, made[2]?.id, made[0]?.id]);
  });

  it.each([
    ['NUL', 'a\u0000b needle'],
    ['lone surrogates', '\ud800 needle \udc00'],
    ['astral', '\u{1f600} needle \u{10ffff}'],
    ['empty', ''],
    ['long', `needle ${'x'.repeat(1_000_000)}`],
    ['nothing kept', null],
  ])('keeps a strange text exactly: %s', async (name, text) => {
    const strange = await store.accounts.create(`Strange ${name}`, 'pro');
    const record = makeRecord({ accountId: strange.id, text });
    await store.evidence.append(record);
    const digest = text === null ? { keyed: true, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } : {};
    expect(await store.evidence.get(strange.id, record.id)).toEqual({
      ...record,
      input: { ...record.input, ...digest },
    });
    const { records: found } = await store.evidence.list(strange.id, { text: 'NEEDLE' }, null, 5);
    expect(found).toHaveLength(text?.includes('needle') ? 1 : 0);
  });

  it('refuses an id twice, and a cursor that no list gave', async () => {
    const [record] = records;
    if (!record) throw new Error('no record');
    await expect(store.evidence.append(record)).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    for (const cursor of ['x', '', 'OTk5LmV2Xw'])
      await expect(store.evidence.list(account.id, {}, cursor, 5)).rejects.toMatchObject({ code: 'STORE_SETTINGS' });
  });

  it('purges what is older than the account keeps, from the search too', async () => {
    const keeper = await store.accounts.create('Keeper', 'pro');
    await store.accounts.setSettings(keeper.id, { retentionDays: 2 });
    const now = start + 10 * 86_400_000;
    const old = makeRecord({ accountId: keeper.id, time: now - 2 * 86_400_000 - 1, text: 'an old needle' });
    const young = makeRecord({ accountId: keeper.id, time: now - 2 * 86_400_000, text: 'a young needle' });
    await store.evidence.append(old);
    await store.evidence.append(young);
    // Long enough for the search index to have them.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await store.evidence.purge(now)).toBe(1);
    const left = await store.evidence.list(keeper.id, { text: 'needle' }, null, 5);
    expect(left.records.map((it) => it.id)).toEqual([young.id]);
    expect(await store.evidence.get(keeper.id, old.id)).toBeUndefined();
    expect(await ids({ to: start + 60 * MINUTE })).toHaveLength(60);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
  });
});
