import { wellFormed } from '../../engine/text/well-formed.js';
import type { EvidenceLabel, EvidenceRecord } from '../../evidence/evidence-record.js';
import { latencyStep } from '../latency-step.js';
import type { EvidenceRow, Tables } from './tables.js';

const hourMs = 3_600_000;
const slots = 1024;
const nul = '\u0000';

/** The smallest place in the order that a time has. */
export const firstSeq = (at: number): number => Math.trunc(at) * slots;

let turn = 0;

/** A place in the order of lists. Two may come out alike: the embedded database takes the next one then. */
const nextSeq = (at: number): number => {
  turn = (turn + 1) % slots;
  return firstSeq(at) + turn;
};

/** What a text column holds: no NUL (PostgreSQL), no lone surrogates (UTF-8). */
export const storable = (text: string): string => {
  const formed = wellFormed(text);
  return formed.includes(nul) ? formed.replaceAll(nul, ' ') : formed;
};

/** The columns of a record. A text that a column can't hold exactly stays exact in the JSON, where it is escaped. */
export const rowOf = (record: EvidenceRecord): EvidenceRow => {
  const { text } = record.input;
  const column = text === null ? null : storable(text);
  const input = column === text ? { ...record.input, text: undefined } : record.input;
  return {
    seq: nextSeq(Date.parse(record.time)),
    id: record.id,
    account_id: record.account_id,
    key_id: record.key_id,
    verdict: record.verdict.verdict,
    rule: record.verdict.rule,
    decided_by: record.verdict.decided_by,
    router_level: record.router_level,
    label: record.label,
    text: column,
    // JSON leaves out what is undefined.
    record: JSON.stringify({ ...record, input, label: undefined }),
  };
};

/** The record of a row. */
export const recordOf = (row: Pick<EvidenceRow, 'record' | 'text' | 'label'>): EvidenceRecord => {
  const kept = JSON.parse(row.record) as EvidenceRecord;
  const label = row.label as EvidenceLabel | null;
  const { input } = kept;
  return { ...kept, input: { ...input, text: input.text === undefined ? row.text : input.text }, label };
};

const startOfHour = (at: number): number => at - (((at % hourMs) + hourMs) % hourMs);

/** What a record adds to the counts of its hour. */
export const hourOf = (record: EvidenceRecord): Tables['evidence_hours'] => {
  const latency = record.verdict.latency_ms;
  return {
    account_id: record.account_id,
    hour: startOfHour(Date.parse(record.time)),
    rule: record.verdict.rule,
    calls: 1,
    blocks: record.verdict.verdict === 'block' ? 1 : 0,
    model_errors: record.model.verdict === 'error' ? 1 : 0,
    latency_sum: latency,
    latency_max: latency,
  };
};

/** What a record adds to the latencies of its hour. */
export const latencyRowOf = (record: EvidenceRecord): Tables['evidence_latencies'] => ({
  account_id: record.account_id,
  hour: startOfHour(Date.parse(record.time)),
  step: latencyStep(record.verdict.latency_ms),
  calls: 1,
});

/** What a record adds to the counts of the versions that decided it. */
export const versionOf = ({ account_id, time, verdict, label }: EvidenceRecord): Tables['evidence_versions'] => ({
  account_id,
  rules_version: verdict.rules_version,
  ml_version: verdict.ml_version,
  rule: verdict.rule,
  first_at: Date.parse(time),
  last_at: Date.parse(time),
  calls: 1,
  blocks: verdict.verdict === 'block' ? 1 : 0,
  false_alarms: label === 'false_alarm' ? 1 : 0,
  missed_attacks: label === 'missed_attack' ? 1 : 0,
});
