import type { Pool } from 'pg';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import type { Charge } from '../account-store.js';
import { formatMonth, type Plans } from '../plans.js';
import { toHourRow, toLatencyRow, toRow, toVersionRow } from '../sql/evidence/evidence-row.js';
import { EVIDENCE_COLUMNS } from '../sql/tables.js';
import { StoreError } from '../store-error.js';
import { byAccount, type ChargeGroup, chargeValues, type Granted, toCharge, writePlanTable } from './charge.js';

/** The columns of a record as the statement takes it: its row, what is counted of it, and its place among its account's calls. */
const GIVEN = [
  ...EVIDENCE_COLUMNS.map((name) => `${name} ${name === 'seq' ? 'BIGINT' : 'TEXT'}`),
  'rules_version TEXT, ml_version TEXT, hour BIGINT, step BIGINT, at BIGINT, blocks BIGINT, model_errors BIGINT',
  'false_alarms BIGINT, missed_attacks BIGINT, place BIGINT',
].join(', ');

/**
 * The quota, rows and counts in one statement: one round trip, one transaction. Of the rows of an account only as many are
 * written as its quota grants. Sorted, so that two servers lock in one order.
 */
const text = `
WITH given AS (
  SELECT * FROM json_to_recordset($1) AS r (${GIVEN})
), charges AS (
  SELECT * FROM portcullis_charge($2::TEXT[], $3::BIGINT[], $4::TEXT[], $5::BIGINT[], $6::JSONB)
), rows AS (
  INSERT INTO evidence (${EVIDENCE_COLUMNS.join(', ')})
  SELECT ${EVIDENCE_COLUMNS.map((name) => `r.${name}`).join(', ')}
  FROM given r LEFT JOIN charges ON charges.id = r.account_id
  WHERE r.place IS NULL OR r.place < charges.granted
  ON CONFLICT (id) DO NOTHING RETURNING id
), written AS (
  SELECT given.* FROM given JOIN rows ON rows.id = given.id
), hours AS (
  INSERT INTO evidence_hours AS h (account_id, hour, rule, calls, blocks, model_errors, latency_sum, latency_max)
  SELECT account_id, hour, rule, count(*), sum(blocks), sum(model_errors), 0, 0 FROM written
  GROUP BY account_id, hour, rule ORDER BY account_id, hour, rule
  ON CONFLICT (account_id, hour, rule) DO UPDATE SET
    calls = h.calls + excluded.calls, blocks = h.blocks + excluded.blocks,
    model_errors = h.model_errors + excluded.model_errors
), latencies AS (
  INSERT INTO evidence_latencies AS l (account_id, hour, step, calls)
  SELECT account_id, hour, step, count(*) FROM written
  GROUP BY account_id, hour, step ORDER BY account_id, hour, step
  ON CONFLICT (account_id, hour, step) DO UPDATE SET calls = l.calls + excluded.calls
), versions AS (
  INSERT INTO evidence_versions AS v (account_id, rules_version, ml_version, rule, first_at, last_at, calls, blocks,
    false_alarms, missed_attacks)
  SELECT account_id, rules_version, ml_version, rule, min(at), max(at), count(*), sum(blocks), sum(false_alarms),
    sum(missed_attacks) FROM written
  GROUP BY account_id, rules_version, ml_version, rule ORDER BY account_id, rules_version, ml_version, rule
  ON CONFLICT (account_id, rules_version, ml_version, rule) DO UPDATE SET
    first_at = least(v.first_at, excluded.first_at), last_at = greatest(v.last_at, excluded.last_at),
    calls = v.calls + excluded.calls, blocks = v.blocks + excluded.blocks,
    false_alarms = v.false_alarms + excluded.false_alarms, missed_attacks = v.missed_attacks + excluded.missed_attacks
)
SELECT NULL AS written, c.* FROM charges c UNION ALL
SELECT rows.id, NULL, NULL, NULL, NULL, NULL, NULL FROM rows`;

/** A record to write. With `at` (milliseconds since 1970) its call is counted in the same transaction. */
export interface AppendItem {
  readonly record: EvidenceRecord;
  readonly at: number | null;
}

/** A row of the statement: what an account was granted, or the id of a record that was written. */
type Result = { readonly written: string } | ({ readonly written: null } & Granted);

/** The outcome of an item: how its call was counted, null where it wasn't to be. */
export type Appended = Charge | null;

/** Writes a batch of records with their counts. An id that is there already is refused alone. */
export function postgresAppend(
  pool: Pool,
  pepper: string,
  plans: Plans,
): (items: readonly AppendItem[]) => Promise<readonly (Appended | Error)[]> {
  const planTable = writePlanTable(plans);

  const write = async (items: readonly AppendItem[]): Promise<ReadonlyMap<AppendItem, Appended | Error>> => {
    const { heads, placeOf } = groupCounts(items);
    const given = items.map((item) => {
      const row = toRow(item.record, pepper);
      const { model_errors } = toHourRow(row);
      return { ...row, ...toVersionRow(row), ...toLatencyRow(row), model_errors, place: placeOf.get(item) };
    });
    const { rows: results } = await pool.query<Result>({
      name: 'portcullis-append',
      text,
      values: [JSON.stringify(given), ...chargeValues(heads, planTable)],
    });
    const ids = new Set(results.flatMap((it) => it.written ?? []));
    const granted = new Map(results.flatMap((it) => (it.written === null ? [[it.id, it] as const] : [])));
    const toResult = (item: AppendItem): Appended | Error => {
      const { id, account_id } = item.record;
      const place = placeOf.get(item);
      const charge = place === undefined ? null : toCharge(granted.get(account_id), account_id, place, item.at ?? 0);
      if (charge instanceof Error || charge?.allowed === false) return charge;
      // Deleted as it is found: the second of two in one batch is refused.
      return ids.delete(id) ? charge : new StoreError('STORE_CONFLICT', `there is evidence "${id}" already`);
    };
    return new Map(items.map((item) => [item, toResult(item)]));
  };

  return async (items) => {
    const results = new Map<AppendItem, Appended | Error>();
    for (const month of byMonth(items))
      for (const batch of bySize(month)) for (const [item, result] of await write(batch)) results.set(item, result);
    return items.map((item) => results.get(item) as Appended | Error);
  };
}

/** Characters of the inputs of one statement, if it has several records. Escaped twice, they stay below the longest string of V8. */
const MOST_CHARACTERS = 2 ** 24;

function* bySize(items: readonly AppendItem[]): Iterable<readonly AppendItem[]> {
  let part: AppendItem[] = [];
  let characters = 0;
  for (const item of items) {
    const { length } = item.record.input.text ?? '';
    if (part.length > 0 && characters + length > MOST_CHARACTERS) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push(item);
    characters += length;
  }
  if (part.length > 0) yield part;
}

/** The accounts to charge, in the order in which every server locks them, and the place of each item among its account's. */
function groupCounts(items: readonly AppendItem[]) {
  const groups = new Map<string, ChargeGroup & { at: number }>();
  const placeOf = new Map<AppendItem, number>();
  for (const item of items) {
    const { at } = item;
    const accountId = item.record.account_id;
    if (at === null) continue;
    const group = groups.get(accountId) ?? { accountId, calls: 0, at };
    groups.set(accountId, group);
    placeOf.set(item, group.calls);
    group.calls += 1;
    group.at = Math.max(group.at, at);
  }
  return { heads: [...groups.values()].sort(byAccount), placeOf };
}

/** One batch, or at a month's turn one for each month: an account is charged once a statement. */
function byMonth(items: readonly AppendItem[]): Iterable<readonly AppendItem[]> {
  const months = new Map<string, AppendItem[]>();
  for (const item of items) {
    const month = item.at === null ? '' : formatMonth(item.at);
    const batch = months.get(month);
    if (batch === undefined) months.set(month, [item]);
    else batch.push(item);
  }
  const uncounted = months.get('');
  const [first] = [...months.keys()].filter((month) => month !== '');
  if (uncounted === undefined || first === undefined) return months.values();
  months.delete('');
  months.get(first)?.push(...uncounted);
  return months.values();
}
