import { newEvidenceId } from '../adapters/evidence-id.js';
import { type ExplainedVerdict, type Input, inputText, type Verdict } from '../index.js';
import { type ScoreOptions, ScoringError } from '../workers/calls.js';
import { type AnsweredRow, type ReadRow, rowOf } from './answer-row.js';
import type { VerdictCache } from './verdict-cache.js';

/** Where verdicts come from. */
export interface RowScoring {
  /** Scorers, or an engine in this process. */
  readonly scorers: { score(input: Input, options: ScoreOptions): Promise<Verdict | ExplainedVerdict> };
  /** Verdicts of texts that came before. */
  readonly cache: VerdictCache<Verdict | ExplainedVerdict>;
  /** Adds each row's findings. */
  readonly findings: boolean;
  /** Milliseconds a scorer may take over one row before it is killed. */
  readonly deadlineMs?: number | undefined;
}

/** A row of the output, with what isn't written. */
export interface ScoredRow {
  readonly row: AnsweredRow;
  /** The verdict was that of the same text before. */
  readonly repeated: boolean;
}

/** Scores one row, read from line `line`; one that can't be scored is answered with an error. */
export async function scoreRow(row: ReadRow, line: number, scoring: RowScoring): Promise<ScoredRow> {
  if ('answer' in row) return { row: row.answer, repeated: false };
  const { scorers, cache, findings, deadlineMs } = scoring;
  const ask = (): Promise<Verdict | ExplainedVerdict> => scorers.score(row.input, { explain: findings, deadlineMs });
  try {
    if (typeof row.input !== 'string') inputText(row.input);
    if (typeof row.input !== 'string') return { row: rowOf(row, await ask()), repeated: false };
    const { answer, repeated } = cache.get(row.input, ask);
    const verdict = await answer;
    // Each row is a decision of its own, with its own evidence.
    return {
      row: rowOf(row, repeated ? { ...verdict, evidence_id: newEvidenceId(), latency_ms: 0 } : verdict),
      repeated,
    };
  } catch (error) {
    if (!(error instanceof ScoringError) || error.code !== 'SCORER_LOST') throw error;
    return { row: { id: row.id, ...row.kept, line, error: error.message }, repeated: false };
  }
}
