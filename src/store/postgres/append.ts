import type { Pool } from 'pg';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import type { Charge } from '../account-store.js';
import { formatMonth, type Plans } from '../plans.js';
import { toHourRow, toLatencyRow, toRow, toVersionRow } from '../sql/evidence/evidence-row.js';
import { EVIDENCE_COLUMNS, type EvidenceTables } from '../sql/tables.js';
import { StoreError } from '../store-error.js';
import { type Granted, toCharge, writePlanTable } from './charge.js';

/**
 * The quota, rows and counts in one statement: one round trip, one transaction. Of the rows of an account only as many are
 * written as its quota grants. Sorted, so that two servers lock in one order.
 */
const text = `
WITH charges AS (
  SELECT * FROM portcullis_charge($27::TEXT[], $28::BIGINT[], $29::TEXT[], $30::BIGINT[], $31::JSONB)
), rows AS (
  INSERT INTO evidence (${EVIDENCE_COLUMNS.join(', ')})
  SELECT ${EVIDENCE_COLUMNS.map((name) => `r.${name}`).join(', ')}
  FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[], $8::TEXT[],
    $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $33::TEXT[], $32::BIGINT[]) AS r (${EVIDENCE_COLUMNS.join(', ')}, place)
  LEFT JOIN charges ON charges.id = r.account_id
  WHERE r.place IS NULL OR r.place < charges.granted
  ON CONFLICT (id) DO NOTHING RETURNING id
), hours AS (
  INSERT INTO evidence_hours AS h (account_id, hour, rule, calls, blocks, model_errors, latency_sum, latency_max)
  SELECT n.account_id, n.hour, n.rule, sum(n.calls), sum(n.blocks), sum(n.model_errors), sum(n.latency), max(n.latency)
  FROM unnest($13::TEXT[], $14::BIGINT[], $15::TEXT[], $16::BIGINT[], $17::BIGINT[], $18::BIGINT[], $19::BIGINT[], $20::TEXT[])
    AS n (account_id, hour, rule, calls, blocks, model_errors, latency, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.hour, n.rule ORDER BY n.account_id, n.hour, n.rule
  ON CONFLICT (account_id, hour, rule) DO UPDATE SET
    calls = h.calls + excluded.calls, blocks = h.blocks + excluded.blocks,
    model_errors = h.model_errors + excluded.model_errors, latency_sum = h.latency_sum + excluded.latency_sum,
    latency_max = greatest(h.latency_max, excluded.latency_max)
), latencies AS (
  INSERT INTO evidence_latencies AS l (account_id, hour, step, calls)
  SELECT n.account_id, n.hour, n.step, count(*)
  FROM unnest($13::TEXT[], $14::BIGINT[], $21::BIGINT[], $20::TEXT[]) AS n (account_id, hour, step, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.hour, n.step ORDER BY n.account_id, n.hour, n.step
  ON CONFLICT (account_id, hour, step) DO UPDATE SET calls = l.calls + excluded.calls
), versions AS (
  INSERT INTO evidence_versions AS v (account_id, rules_version, ml_version, rule, first_at, last_at, calls, blocks,
    false_alarms, missed_attacks)
  SELECT n.account_id, n.rules, n.ml, n.rule, min(n.at), max(n.at), count(*), sum(n.blocks), sum(n.alarms), sum(n.missed)
  FROM unnest($13::TEXT[], $22::TEXT[], $23::TEXT[], $15::TEXT[], $24::BIGINT[], $17::BIGINT[], $25::BIGINT[],
    $26::BIGINT[], $20::TEXT[]) AS n (account_id, rules, ml, rule, at, blocks, alarms, missed, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.rules, n.ml, n.rule ORDER BY n.account_id, n.rules, n.ml, n.rule
  ON CONFLICT (account_id, rules_version, ml_version, rule) DO UPDATE SET
    first_at = least(v.first_at, excluded.first_at), last_at = greatest(v.last_at, excluded.last_at),
    calls = v.calls + excluded.calls, blocks = v.blocks + excluded.blocks,
    false_alarms = v.false_alarms + excluded.false_alarms, missed_attacks = v.missed_attacks + excluded.missed_attacks
)
SELECT NULL AS written, c.* FROM charges c UNION ALL
SELECT rows.id, NULL, NULL, NULL, NULL, NULL, NULL FROM rows`;

const column = <T, K extends keyof T>(rows: readonly T[], name: K): readonly T[K][] => rows.map((row) => row[name]);

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
    const { heads, placeByItem: placeOf } = groupCounts(items);
    const rows = items.map(({ record }) => toRow(record, pepper));
    const hours: readonly EvidenceTables['evidence_hours'][] = rows.map(toHourRow);
    const versions = rows.map(toVersionRow);
    const { rows: results } = await pool.query<Result>({
      name: 'portcullis-append',
      text,
      values: [
        ...EVIDENCE_COLUMNS.slice(0, -1).map((name) => column(rows, name)),
        column(hours, 'account_id'),
        column(hours, 'hour'),
        column(hours, 'rule'),
        column(hours, 'calls'),
        column(hours, 'blocks'),
        column(hours, 'model_errors'),
        column(hours, 'latency_sum'),
        column(rows, 'id'),
        column(rows.map(toLatencyRow), 'step'),
        column(versions, 'rules_version'),
        column(versions, 'ml_version'),
        column(versions, 'first_at'),
        column(versions, 'false_alarms'),
        column(versions, 'missed_attacks'),
        heads.map(({ accountId }) => accountId),
        heads.map(({ calls }) => calls),
        heads.map(({ at }) => formatMonth(at)),
        column(heads, 'at'),
        planTable,
        items.map((item) => placeOf.get(item) ?? null),
        column(rows, 'run'),
      ],
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
    for (const batch of byMonth(items)) for (const [item, result] of await write(batch)) results.set(item, result);
    return items.map((item) => results.get(item) as Appended | Error);
  };
}

/** The calls of one account that are counted together, at the time of the last one. */
interface Group {
  readonly accountId: string;
  calls: number;
  at: number;
}

/** The accounts to charge, in the order in which every server locks them, and the place of each item among its account's. */
function groupCounts(items: readonly AppendItem[]): {
  readonly heads: readonly Group[];
  readonly placeByItem: ReadonlyMap<AppendItem, number>;
} {
  const groups = new Map<string, Group>();
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
  const heads = [...groups.values()].sort((a, b) => (a.accountId < b.accountId ? -1 : 1));
  return { heads, placeByItem: placeOf };
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
