import { expect, test } from 'vitest';
import type { PlacedSlice } from '../../src/batch/record-slices.js';
import { scoreSlices } from '../../src/batch/score-slices.js';
import { createEngine, type ExplainedVerdict, type Input, type Verdict } from '../../src/index.js';
import { ScoringError } from '../../src/workers/calls.js';
import type { EnginePool } from '../../src/workers/engine-pool.js';

const engine = createEngine();
const lost = () => Promise.reject(new ScoringError('SCORER_LOST', 'a scorer was lost'));
const settings = { findings: false, strict: false, format: 'jsonl', compression: 'none' } as const;

/** Scorers that are lost over every slice, and over the text `poison`. */
function brokenPool(mode: 'rules' | 'hybrid'): EnginePool & { readonly asked: Input[] } {
  const asked: Input[] = [];
  const score = (input: Input): Promise<Verdict> => {
    asked.push(input);
    return input === 'poison' ? lost() : Promise.resolve(engine.scan(input));
  };
  return {
    asked,
    score: score as (input: Input) => Promise<ExplainedVerdict>,
    run: lost,
    info: { ...engine.info, mode },
    stats: () => ({ scored: 0, lost: 0, waiting: 0, underWay: 0, workers: 0, ready: 0, pids: [] }),
    close: () => Promise.resolve(),
  };
}

async function* slices(...texts: readonly string[]): AsyncGenerator<PlacedSlice> {
  for (const [at, text] of texts.entries()) {
    const bytes = Buffer.from(`${JSON.stringify({ text })}\n{"text":"Agenda."}\n`);
    yield { slice: { kind: 'jsonl', bytes, line: 2 * at + 1 }, size: bytes.length, nextLine: 2 * at + 3 };
  }
}

test.each(['rules', 'hybrid'] as const)(
  'mode %s: a slice that a scorer is lost over is taken row by row, and only the row at fault has an error',
  async (mode) => {
    const pool = brokenPool(mode);
    const scored = [];
    for await (const { result, nextLine } of scoreSlices(slices('poison', 'Minutes.'), settings, pool, 2))
      scored.push({ nextLine, counts: result.counts, rows: Buffer.from(result.bytes).toString().trim().split('\n') });
    expect(scored.map(({ nextLine }) => nextLine)).toEqual([3, 5]);
    expect(scored.flatMap(({ rows }) => rows.map((row) => JSON.parse(row)))).toMatchObject([
      { id: 1, line: 1, error: 'a scorer was lost' },
      { id: 2, verdict: 'allow' },
      { id: 3, verdict: 'allow' },
      { id: 4, verdict: 'allow' },
    ]);
    expect(scored.map(({ counts }) => [counts.rows, counts.bad, counts.repeated])).toEqual([
      [2, 1, 0],
      [2, 0, 1],
    ]);
    // A text that comes again isn't asked for again.
    expect(pool.asked).toEqual(['poison', 'Agenda.', 'Minutes.']);
  },
);

test('any other trouble ends it', async () => {
  const refused = new ScoringError('SCORER_UNAVAILABLE', 'no scorer comes up');
  const pool = { ...brokenPool('rules'), run: () => Promise.reject(refused) };
  await expect(scoreSlices(slices('a'), settings, pool, 1).next()).rejects.toBe(refused);
});
