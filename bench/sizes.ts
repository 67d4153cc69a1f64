import type { Engine } from '../src/index.js';
import type { Corpus } from './corpus.js';
import { growthExponent, type Timing, timeEach } from './measure.js';

/** How one size of text fared. */
export interface SizeResult {
  /** In UTF-16 code units. */
  readonly size: number;
  readonly scan: Timing;
  readonly analyze: Timing;
}

export interface Growth {
  readonly from: number;
  readonly to: number;
  readonly scan: number;
  readonly analyze: number;
}

const plans = {
  full: { 100: 4000, 1000: 2000, 4000: 600, 16000: 160, 64000: 40, 256000: 12, 1000000: 6 },
  quick: { 100: 400, 1000: 400, 16000: 40, 1000000: 2 },
} as const;

/** Times scan and analyze on distinct texts of each size. */
export async function timeSizes(engine: Engine, corpus: Corpus, quick: boolean): Promise<readonly SizeResult[]> {
  const results: SizeResult[] = [];
  for (const [name, most] of Object.entries(quick ? plans.quick : plans.full)) {
    const size = Number(name);
    const texts = corpus.pieces(size, most);
    if (texts.length === 0) continue;
    const { scan, analyze } = await timeEach(
      [
        { name: 'scan', run: (text) => engine.scan(text) },
        { name: 'analyze', run: (text) => engine.analyze(text), async: true },
      ],
      texts,
    );
    if (!scan || !analyze) throw new Error('a timing is missing');
    results.push({ size, scan, analyze });
  }
  return results;
}

/** The exponent of cost over size between 1 kB and 1 MB, by the medians. */
export function growth(sizes: readonly SizeResult[]): Growth {
  const fitted = sizes.filter(({ size }) => size >= 1000);
  const exponentOf = (time: (result: SizeResult) => number): number =>
    growthExponent(fitted.map((result) => ({ size: result.size, time: time(result) })));
  return {
    from: Math.min(...fitted.map(({ size }) => size)),
    to: Math.max(...fitted.map(({ size }) => size)),
    scan: exponentOf(({ scan }) => scan.p50),
    analyze: exponentOf(({ analyze }) => analyze.p50),
  };
}
