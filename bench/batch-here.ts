import { createVerdictCache } from '../src/batch/score-row.js';
import { scoreSlice } from '../src/batch/score-slices.js';
import { createEngine, type ExplainedVerdict, findModel, type Input, loadModel, type Verdict } from '../src/index.js';

/** Milliseconds of processor time a row, medians over the turns. */
export interface CostsHere {
  readonly rounds: number;
  readonly bare: number;
  readonly slices: number;
  /** Slices to bare, turn by turn. */
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  /** Share of the slices' time inside the model, tokenizer and network together. */
  readonly inModel: number;
}

const cpuMs = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** What the bare engine and what a scorer's whole work on slices cost, in this process, in turns; the first third warms up, after the texts to warm the rules. */
export async function costsHere(
  texts: readonly string[],
  warming: readonly string[],
  mode: string,
): Promise<CostsHere> {
  const hybrid = mode === 'hybrid';
  const model = hybrid ? await loadModel(findModel() as string, { isolation: 'inline' }) : (false as const);
  let inModel = 0;
  const watched = model && {
    ...model,
    async classify(...asked: Parameters<typeof model.classify>) {
      const before = cpuMs();
      try {
        return await model.classify(...asked);
      } finally {
        inModel += cpuMs() - before;
      }
    },
  };
  const engine = createEngine({ mode: hybrid ? 'hybrid' : 'rules', timeoutMs: 600_000, model: watched });
  await engine.warmUp();
  for (const text of warming) engine.scan(text);
  const settings = { findings: false, strict: false, format: 'jsonl', compression: 'none' } as const;
  const cache = createVerdictCache<Verdict | ExplainedVerdict>();
  // One text after another in both, as scorers have it.
  let turn: Promise<unknown> = Promise.resolve();
  const score = async (input: Input): Promise<Verdict> => {
    if (!hybrid) return engine.scan(input);
    const verdict = turn.then(() => engine.analyze(input));
    turn = verdict.catch(() => undefined);
    return verdict;
  };

  const rows = hybrid ? 10 : 90;
  const bare: number[] = [];
  const slices: number[] = [];
  let slicesInModel = 0;
  for (let at = 0; at + 2 * rows <= texts.length; at += 2 * rows) {
    const warm = at >= texts.length / 3;
    const bytes = Buffer.from(
      texts
        .slice(at, at + rows)
        .map((text, id) => `${JSON.stringify({ id, text })}\n`)
        .join(''),
    );
    const inModelBefore = inModel;
    const before = cpuMs();
    await scoreSlice({ kind: 'jsonl', bytes, line: 1 }, settings, { workers: { score }, cache, findings: false });
    const between = cpuMs();
    const modelBetween = inModel - inModelBefore;
    for (const text of texts.slice(at + rows, at + 2 * rows)) await score(text);
    if (!warm) continue;
    slicesInModel += modelBetween;
    slices.push((between - before) / rows);
    bare.push((cpuMs() - between) / rows);
  }
  await engine.close();
  const total = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0);
  const third = Math.ceil(bare.length / 3);
  const parts = [0, 1, 2].map((part) => {
    const range = [part * third, (part + 1) * third] as const;
    return total(slices.slice(...range)) / total(bare.slice(...range));
  });
  return {
    rounds: bare.length,
    bare: median(bare),
    slices: median(slices),
    ratio: total(slices) / total(bare),
    lowest: Math.min(...parts),
    highest: Math.max(...parts),
    inModel: slicesInModel / (total(slices) * rows),
  };
}
