import type { Engine } from '../../src/index.js';
import type { Corpus } from '../corpus.js';
import { quantile } from '../measure.js';
import { seedRandom } from './fill.js';
import type { HostileText } from './hostile-text.js';

export interface HostileResult {
  readonly name: string;
  /** The middle of three runs, in milliseconds of CPU time. */
  readonly scanMs: number;
  /** Against the median of ordinary text of the same size. */
  readonly ratio: number;
  readonly verdict: 'allow' | 'block';
}

export interface HostileReport {
  readonly size: number;
  readonly ordinaryMs: number;
  readonly ordinaryTexts: number;
  /** Dearest first. */
  readonly results: readonly HostileResult[];
}

/** CPU time, which other programs on the machine disturb less than a clock's. */
const timeOnce = (engine: Engine, text: string): number => {
  const before = process.cpuUsage();
  engine.scan(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

const checkSpans = (engine: Engine, name: string, text: string): 'allow' | 'block' => {
  const { verdict, explanation } = engine.scan(text, { explain: true });
  for (const { span } of explanation.findings) {
    if (!(0 <= span.start && span.start < span.end && span.end <= text.length)) {
      throw new Error(`"${name}": a span lies outside the text`);
    }
  }
  return verdict;
};

/** Scans each hostile text and sets its time against ordinary text of that size, measured before and after. */
export function timeHostile(
  engine: Engine,
  corpus: Corpus,
  texts: readonly HostileText[],
  size: number,
  runs: number,
): HostileReport {
  const ordinary = corpus.pieces(size, 30);
  const ordinaryTimes = ordinary.map((text) => timeOnce(engine, text));
  const measured = texts.map(({ name, make }, seed) => {
    seedRandom(seed + 1);
    const text = make(size);
    const verdict = checkSpans(engine, name, text);
    const times = Array.from({ length: runs }, () => timeOnce(engine, text)).sort((a, b) => a - b);
    return { name, scanMs: quantile(times, 0.5), verdict };
  });
  ordinaryTimes.push(...ordinary.map((text) => timeOnce(engine, text)));
  const ordinaryMs = quantile(
    ordinaryTimes.sort((a, b) => a - b),
    0.5,
  );
  const results = measured.map((result) => ({ ...result, ratio: result.scanMs / ordinaryMs }));
  return {
    size,
    ordinaryMs,
    ordinaryTexts: ordinary.length,
    results: results.sort((a, b) => b.ratio - a.ratio),
  };
}
