import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { loadPlans } from '../../../src/store/plans.js';
import { postgresAppend } from '../../../src/store/postgres/append.js';
import { makeRecord } from '../make-record.js';

it('long texts of one batch go to PostgreSQL in several statements, short ones in one', async () => {
  const lengths: number[] = [];
  const pool = {
    query: async ({ values }: { values: readonly string[] }) => {
      lengths.push((values[0] as string).length);
      return { rows: [] };
    },
  } as unknown as Pool;
  const append = postgresAppend(pool, 'pepper', loadPlans());
  const items = (count: number, length: number) =>
    Array.from({ length: count }, () => ({
      record: makeRecord({ accountId: 'acct_1', text: '"'.repeat(length) }),
      at: null,
    }));
  await append(items(256, 100));
  expect(lengths.splice(0)).toHaveLength(1);
  expect(await append(items(40, 2 ** 20))).toHaveLength(40);
  expect(lengths).toHaveLength(3);
  expect(Math.max(...lengths)).toBeLessThan(2 ** 27);
});
