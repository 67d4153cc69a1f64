import type { EvidenceLabel, EvidenceRecord, KeptText } from '../../../evidence/evidence-record.js';
import { latencyStep } from '../../evidence-store.js';
import { textDigest } from '../../secrets.js';
import type { EvidenceRow, EvidenceTables } from '../tables.js';

const HOUR_MS = 3_600_000;
const SLOTS = 1024;
const NUL_CHARACTER = '\u0000';

/** The smallest place in the order that a time has. */
export function firstSeq(at: number): number {
  return Math.trunc(at) * SLOTS;
}

/** The time of a place in the order. */
export function timeOfSeq(seq: number): number {
  return Math.floor(seq / SLOTS);
}

let slot = 0;

/** A place in the order of lists. Two may come out alike: the embedded database takes the next one then. */
const nextSeq = (at: number): number => {
  slot = (slot + 1) % SLOTS;
  return firstSeq(at) + slot;
};

/** Returns a text that a text column can hold: no NUL (PostgreSQL), no lone surrogates (UTF-8). */
export function storable(text: string): string {
  const formed = text.toWellFormed();
  return formed.includes(NUL_CHARACTER) ? formed.replaceAll(NUL_CHARACTER, ' ') : formed;
}

/** The fields that the counts beside the records are grouped by. */
export interface Counted extends Pick<EvidenceRow, 'account_id' | 'verdict' | 'rule' | 'label'> {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly is_model_error: boolean;
  readonly latency_ms: number;
  readonly rules_version: string;
  readonly ml_version: string;
}

export type CountedRow = EvidenceRow & Counted;

/** A text whose digest can't be guessed from: see `textDigest`. */
function keyedText<T extends KeptText>(text: T, pepper: string): T {
  return text.kept === 'whole' || text.keyed ? text : { ...text, sha256: textDigest(text.sha256, pepper), keyed: true };
}

/** A record whose digests can't be guessed from. */
export function keyedTexts(record: EvidenceRecord, pepper: string): EvidenceRecord {
  const { input, task } = record;
  const keyed = { ...record, input: keyedText(input, pepper) };
  return task === undefined ? keyed : { ...keyed, task: keyedText(task, pepper) };
}

/** The columns of a record. A text that a column can't hold exactly stays exact in the JSON, where it is escaped. */
export function toRow(record: EvidenceRecord, pepper: string): CountedRow {
  const { text } = record.input;
  const { verdict } = record;
  const at = Date.parse(record.time);
  const column = text === null ? null : storable(text);
  const kept = keyedTexts(record, pepper);
  const input = column === text ? { ...kept.input, text: undefined } : kept.input;
  return {
    seq: nextSeq(at),
    id: record.id,
    account_id: record.account_id,
    key_id: record.key_id,
    verdict: verdict.verdict,
    rule: verdict.rule,
    decided_by: verdict.decided_by,
    router_level: record.router_level,
    channel: record.channel,
    label: record.label,
    run: record.run?.id ?? null,
    text: column,
    // JSON leaves out what is undefined.
    record: JSON.stringify({ ...kept, input, label: undefined }),
    at,
    is_model_error: record.model.verdict === 'error',
    latency_ms: verdict.latency_ms,
    rules_version: verdict.rules_version,
    ml_version: verdict.ml_version,
  };
}

export function toRecord(row: Pick<EvidenceRow, 'record' | 'text' | 'label'>): EvidenceRecord {
  const kept = JSON.parse(row.record) as EvidenceRecord;
  const label = row.label as EvidenceLabel | null;
  const { input } = kept;
  return { ...kept, input: { ...input, text: input.text === undefined ? row.text : input.text }, label };
}

const startOfHour = (at: number): number => at - (((at % HOUR_MS) + HOUR_MS) % HOUR_MS);

/** Returns a record's share of the counts of its hour. */
export function toHourRow(it: Counted): EvidenceTables['evidence_hours'] {
  return {
    account_id: it.account_id,
    hour: startOfHour(it.at),
    rule: it.rule,
    calls: 1,
    blocks: it.verdict === 'block' ? 1 : 0,
    model_errors: it.is_model_error ? 1 : 0,
    // Nothing reads these columns of 1.4 any more. They may not be null, and stay for a return to it.
    latency_sum: 0,
    latency_max: 0,
  };
}

/** Returns a record's share of the latencies of its hour. */
export function toLatencyRow(it: Counted): EvidenceTables['evidence_latencies'] {
  return {
    account_id: it.account_id,
    hour: startOfHour(it.at),
    step: latencyStep(it.latency_ms),
    calls: 1,
  };
}

/** Returns a record's share of the counts of the versions that decided it. */
export function toVersionRow(it: Counted): EvidenceTables['evidence_versions'] {
  return {
    account_id: it.account_id,
    rules_version: it.rules_version,
    ml_version: it.ml_version,
    rule: it.rule,
    first_at: it.at,
    last_at: it.at,
    calls: 1,
    blocks: it.verdict === 'block' ? 1 : 0,
    false_alarms: it.label === 'false_alarm' ? 1 : 0,
    missed_attacks: it.label === 'missed_attack' ? 1 : 0,
  };
}
