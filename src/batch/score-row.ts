import { LRUCache } from 'lru-cache';
import { newEvidenceId } from '../adapters/evidence-id.js';
import type { ExplainedVerdict } from '../engine/explain.js';
import { type Input, inputText } from '../engine/input.js';
import type { Verdict } from '../engine/verdict.js';
import { type ScoreOptions, ScoringError } from '../workers/calls.js';
import { type OutputRow, type ReadRow, toOutputRow } from './row.js';

export interface RowScoring {
  /** Workers, or an engine in this process. */
  readonly workers: { score(input: Input, options: ScoreOptions): Promise<Verdict | ExplainedVerdict> };
  /** Verdicts of texts that came before. */
  readonly cache: VerdictCache<Verdict | ExplainedVerdict>;
  /** Adds each row's findings. */
  readonly findings: boolean;
  /** Milliseconds a worker may take over one row before it is killed. */
  readonly deadlineMs?: number | undefined;
}

/** A row of the output, with what isn't written. */
export interface ScoredRow {
  readonly row: OutputRow;
  /** The verdict was that of the same text before. */
  readonly repeated: boolean;
}

/** Scores one row, read from line `line`. A row that can't be scored becomes a row with an error. */
export async function scoreRow(row: ReadRow, line: number, scoring: RowScoring): Promise<ScoredRow> {
  if ('output' in row) return { row: row.output, repeated: false };
  const { workers, cache, findings, deadlineMs } = scoring;
  const { input, channel, task } = row;
  const ask = (): Promise<Verdict | ExplainedVerdict> =>
    workers.score(input, { explain: findings, deadlineMs, channel, task });
  try {
    if (typeof input !== 'string') inputText(input);
    if (typeof input !== 'string') return { row: toOutputRow(row, await ask()), repeated: false };
    // With the task's length no two rows have one name unless they are alike.
    const { value, repeated } = cache.get(`${channel ?? ''} ${task?.length ?? 0} ${task ?? ''}${input}`, ask);
    const verdict = await value;
    // Each row is a decision of its own, with its own evidence.
    return {
      row: toOutputRow(row, repeated ? { ...verdict, evidence_id: newEvidenceId(), latency_ms: 0 } : verdict),
      repeated,
    };
  } catch (error) {
    if (!(error instanceof ScoringError) || error.code !== 'SCORER_LOST') throw error;
    return { row: { id: row.id, ...row.kept, line, error: error.message }, repeated: false };
  }
}

/** Verdicts by text, bounded by the characters it holds; the least recently used leaves first. */
export interface VerdictCache<Value> {
  /** The value for a text, made by `make` when it isn't there; a failed one isn't kept. */
  get(text: string, make: () => Promise<Value>): { readonly value: Promise<Value>; readonly repeated: boolean };
}

/** An entry's own cost besides its text, in characters. */
const ENTRY_COST = 400;

const MAX_CHARACTERS = 8 * 2 ** 20;

/** Makes a cache. A text over a 64th of `maxCharacters` isn't kept; 0 keeps nothing. */
export function createVerdictCache<Value>(maxCharacters: number = MAX_CHARACTERS): VerdictCache<Value> {
  const entries =
    maxCharacters > 0
      ? new LRUCache<string, Promise<Value>>({
          maxSize: maxCharacters,
          sizeCalculation: (_value, text) => text.length + ENTRY_COST,
        })
      : undefined;

  return {
    get(text, make) {
      const known = entries?.get(text);
      if (known !== undefined) return { value: known, repeated: true };
      const value = make();
      if (entries === undefined || text.length > maxCharacters / 64) return { value, repeated: false };
      entries.set(text, value);
      value.catch(() => {
        if (entries.peek(text) === value) entries.delete(text);
      });
      return { value, repeated: false };
    },
  };
}
