import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { EvidenceFilter } from '../../evidence-store.js';
import { StoreError } from '../../store-error.js';
import { RARE_CHANNEL, WITH_TASK } from '../schema.js';
import type { EvidenceTables } from '../tables.js';
import { firstSeq, storable } from './evidence-row.js';

type Where = ExpressionBuilder<EvidenceTables, 'evidence'>;

/**
 * The conditions of a filter but for its text. Values that have an index of their own stand as literals beside the
 * parameter, since neither database uses a partial index for a value that it doesn't see.
 */
export function filterConditions(where: Where, accountId: string, filter: EvidenceFilter): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = [where('account_id', '=', accountId)];
  const { verdict, rule, decidedBy, routerLevel, channel, hasTask, keyId, run, from, to, label } = filter;
  // A run's, a rule's or a label's records are fewer than all blocks.
  const rarer = run !== undefined || (rule !== undefined && rule !== 'none') || (label !== undefined && label !== null);
  if (verdict === 'block')
    all.push(rarer ? sql<SqlBool>`coalesce(verdict, '') = 'block'` : sql<SqlBool>`verdict = 'block'`);
  if (verdict === 'allow') all.push(sql<SqlBool>`verdict = 'allow'`);
  if (run !== undefined) all.push(where('run', '=', run), sql<SqlBool>`run IS NOT NULL`);
  if (rule !== undefined) {
    all.push(run === undefined ? where('rule', '=', rule) : sql<SqlBool>`coalesce(rule, '') = ${rule}`);
    if (rule !== 'none' && run === undefined) all.push(sql<SqlBool>`rule <> 'none'`);
  }
  // A rule, a label, a block or a task names few records: their index is walked, and the others only looked at. Left to itself
  // the embedded database takes the index with the most columns, however many records that is.
  const rarerThanTask = rarer || verdict === 'block';
  const drives = rarerThanTask || hasTask === true;
  const is = (column: 'decided_by' | 'router_level' | 'channel' | 'key_id', value: string): Expression<SqlBool> =>
    drives ? sql<SqlBool>`coalesce(${sql.ref(column)}, '') = ${value}` : where(column, '=', value);
  if (decidedBy !== undefined) {
    all.push(is('decided_by', decidedBy));
    if (!drives && decidedBy !== 'rules') all.push(sql<SqlBool>`decided_by <> 'rules'`);
  }
  if (routerLevel !== undefined) {
    all.push(is('router_level', routerLevel));
    if (!drives && routerLevel !== 'rules') all.push(sql<SqlBool>`router_level <> 'rules'`);
  }
  if (channel !== undefined) {
    all.push(is('channel', channel));
    if (!drives && isRareChannel(channel)) all.push(sql.raw<SqlBool>(RARE_CHANNEL));
  }
  if (hasTask === true)
    all.push(sql.raw<SqlBool>(rarerThanTask ? WITH_TASK.replace('record', "coalesce(record, '')") : WITH_TASK));
  if (hasTask === false) all.push(sql.raw<SqlBool>(`NOT (${WITH_TASK})`));
  if (keyId !== undefined) all.push(is('key_id', keyId));
  if (from !== undefined) all.push(where('seq', '>=', firstSeq(from)));
  if (to !== undefined) all.push(where('seq', '<', firstSeq(to)));
  if (label === null) all.push(where('label', 'is', null));
  else if (label !== undefined) all.push(where('label', '=', label));
  return all;
}

/** The part of a filter that few records fit, by an index of its own: the rarest of those there are; undefined for none. */
export function rareValue(filter: EvidenceFilter): EvidenceFilter | undefined {
  const { verdict, rule, decidedBy, routerLevel, label, run } = filter;
  if (run !== undefined) return { run };
  if (rule !== undefined && rule !== 'none') return { rule };
  if (label !== undefined && label !== null) return { label };
  if (verdict === 'block') return { verdict };
  if (decidedBy !== undefined && decidedBy !== 'rules') return { decidedBy };
  return routerLevel !== undefined && routerLevel !== 'rules' ? { routerLevel } : undefined;
}

/** Whether an index has the records of a channel. */
export function isRareChannel(channel: EvidenceFilter['channel']): boolean {
  return channel !== undefined && channel !== 'unknown' && channel !== 'user';
}

/** The text of a filter as text columns hold texts; an empty one filters nothing. */
export function searched({ text }: EvidenceFilter): string | undefined {
  return text === undefined || text === '' ? undefined : storable(text);
}

export interface Place {
  readonly seq: number;
  readonly id: string;
}

/** A record in a list: its place, and the bytes of its text and its JSON. */
export interface ListedPlace extends Place {
  readonly bytes: number;
}

export interface PageOfPlaces {
  readonly places: readonly ListedPlace[];
  /** Place at which a search stopped for now; null where it reached the limit or the end. */
  readonly stoppedAt: Place | null;
}

/** Bytes of a page's texts and records: a page of very long texts is shorter than requested. */
export const PAGE_BYTES: number = 8 * 1024 * 1024;

/** Both databases know it without reading the text. */
export const bytesOfRecord: RawBuilder<number> = sql<number>`coalesce(octet_length(text), 0) + octet_length(record)`;

/** Bytes of all of them. */
export function sumBytes(places: readonly ListedPlace[]): number {
  return places.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Counts the first ones that have at most so many bytes together; one at least, where there is one. */
export function countWithin(places: readonly ListedPlace[], most: number): number {
  let left = most;
  const at = places.findIndex(({ bytes }) => {
    left -= bytes;
    return left < 0;
  });
  return at < 0 ? places.length : Math.max(1, at);
}

/** The cursor of a place: opaque to callers. */
export function encodeCursor({ seq, id }: Place): string {
  return Buffer.from(`${seq}.${id}`).toString('base64url');
}

/** @throws StoreError for a cursor that this store never gave */
export function decodeCursor(cursor: string): Place {
  const parts = /^(\d{1,16})\.(ev_[0-9a-f]{24})$/.exec(Buffer.from(cursor, 'base64url').toString());
  const [, seq, id] = parts ?? [];
  if (seq === undefined || id === undefined) throw new StoreError('STORE_SETTINGS', 'the cursor is not valid');
  return { seq: Number(seq), id };
}
