import { type ExplainedVerdict, toMinimal, type Verdict } from '../index.js';

/** The verdict alone, in the order of its fields. Named one by one: a rest of an object costs as much as a short scan. */
export function bareVerdict(explained: ExplainedVerdict): Verdict {
  return {
    ...toMinimal(explained),
    score: explained.score,
    threshold: explained.threshold,
    decided_by: explained.decided_by,
    ml_version: explained.ml_version,
    ml_threshold: explained.ml_threshold,
    mode: explained.mode,
  };
}
