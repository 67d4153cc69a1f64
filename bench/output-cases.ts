import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type Analyzer, createGuard, passes, type Run } from '../src/policy/index.js';

/** An answer of a model at the end of a run. */
const outputCase = z.strictObject({
  id: z.string(),
  /** How the answer leads out, or what kind of link it has. */
  form: z.string(),
  user: z.string(),
  operator: z.string(),
  /** What the model has read: tool and text. */
  results: z.array(z.tuple([z.string(), z.string()])),
  /** Tools and domains of `on.flow.trusted`. */
  trusted: z.array(z.string()).optional(),
  canaries: z.array(z.string()).optional(),
  output: z.string(),
});

export type OutputCase = z.infer<typeof outputCase>;

export function readCases(name: 'attacks' | 'honest'): readonly OutputCase[] {
  const lines = readFileSync(`bench/texts/output/${name}.jsonl`, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => outputCase.parse(JSON.parse(line)));
}

/** Finds nothing suspicious: the rules on links stand alone. */
const analyzer: Analyzer = {
  analyze: async () => ({
    ...{ verdict: 'allow', confidence: 0, score: 0, threshold: 0.8, rule: 'none', reason: null, decided_by: 'ml' },
    ...{ rules_version: '1.0.0+0', ml_version: 'test', ml_threshold: 0.8, mode: 'hybrid', latency_ms: 0 },
    evidence_id: 'ev_000000000000000000000000',
  }),
};

/** Plays a case through a guard of its own, up to the answer. */
export async function startCase({ user, operator, results, trusted, canaries }: OutputCase): Promise<Run> {
  const guard = createGuard({ engine: analyzer, on: trusted && { flow: { trusted } } });
  const run = guard.run({ canaries });
  run.trust(operator);
  await run.screen('user', user);
  for (const [tool, text] of results) await run.screen('tool_result', text, { tool });
  return run;
}

/** Returns what a run shows of an answer: in one piece, or in a stream of pieces of so many characters. */
export async function showOutput(run: Run, output: string, pieceLength?: number): Promise<string> {
  if (pieceLength === undefined) {
    const decision = await run.screen('output', output);
    return passes(decision) ? decision.value : decision.enforcement.note;
  }
  const stream = run.outputStream();
  let shown = '';
  for (let at = 0; at < output.length; at += pieceLength)
    shown += await stream.write(output.slice(at, at + pieceLength));
  return shown + (await stream.end());
}
