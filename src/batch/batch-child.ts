/** The process that a batch forks: an engine worker that also reads, scores and encodes whole slices of an input. */
import type { ExplainedVerdict } from '../engine/explain.js';
import type { Input } from '../engine/input.js';
import type { Verdict } from '../engine/verdict.js';
import type { ScoreOptions } from '../workers/calls.js';
import { serveEngine } from '../workers/serve-engine.js';
import { createVerdictCache } from './score-row.js';
import { type SliceTask, scoreSlice } from './score-slices.js';

const cache = createVerdictCache<Verdict | ExplainedVerdict>();

serveEngine((task, engine) => {
  const { slice, settings } = task as SliceTask;
  // Mode `rules`: at once, so that a row's latency is its own.
  const score = async (input: Input, { channel, explain, evidenceId }: ScoreOptions): Promise<Verdict> =>
    engine.scan(input, { channel, explain, evidenceId });
  return scoreSlice(slice, settings, { workers: { score }, cache, findings: settings.findings });
});
