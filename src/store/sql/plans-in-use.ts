import { StoreError } from '../store-error.js';
import type { Connection } from './connection.js';

/**
 * Refuses plans that lack one which accounts have: each of their calls would end as a 500.
 *
 * @throws StoreError STORE_SETTINGS that names them and says what to do
 */
export async function requirePlansInUse({ db, plans }: Pick<Connection, 'db' | 'plans'>): Promise<void> {
  const there = new Set(plans.all.map(({ name }) => name));
  const used = await db
    .selectFrom('accounts')
    .select((select) => ['plan', select.fn.countAll<number>().as('accounts')])
    .groupBy('plan')
    .orderBy('plan')
    .execute();
  const lacking = used.filter(({ plan }) => !there.has(plan)).map(({ plan, accounts }) => `"${plan}" (${accounts})`);
  if (lacking.length === 0) return;
  throw new StoreError(
    'STORE_SETTINGS',
    `accounts have plans that the plans file lacks: ${lacking.join(', ')}; put them back, or give these accounts another by "portcullis admin plan set"`,
  );
}
