import { Bench } from 'tinybench';

/** Times of one call, in microseconds. */
export interface Timing {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** The value below which a share of the samples lies (nearest rank). */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

/** Percentiles of samples given in milliseconds. */
export function timingOf(milliseconds: readonly number[]): Timing {
  const sorted = milliseconds.map((time) => time * 1000).sort((a, b) => a - b);
  const at = (share: number): number => quantile(sorted, share);
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** Something to time on a text. */
export interface Subject {
  readonly name: string;
  readonly run: (text: string) => unknown;
  /** True when `run` gives a promise. */
  readonly async?: boolean;
}

const ROUNDS = 4;

/**
 * Times each subject once on every text. The texts are dealt out to rounds, and the order of the subjects turns
 * with each round, so that none gains from a quieter moment of the machine.
 */
export async function timeEach(
  subjects: readonly Subject[],
  texts: readonly string[],
): Promise<Readonly<Record<string, Timing>>> {
  const samples = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  const share = Math.ceil(texts.length / ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const part = texts.slice(round * share, (round + 1) * share);
    if (part.length === 0) continue;
    const bench = new Bench({ iterations: part.length, time: 0, warmup: false, retainSamples: true });
    for (const { name, run, async = false } of round % 2 === 0 ? subjects : [...subjects].reverse()) {
      let next = 0;
      const runNext = (): unknown => {
        const text = part[next % part.length] ?? '';
        next += 1;
        return run(text);
      };
      bench.add(name, runNext, { async });
    }
    await bench.run();
    for (const { name, result } of bench.tasks) {
      if (!('latency' in result)) throw new Error(`${name} failed while it was timed: ${JSON.stringify(result)}`);
      samples.get(name)?.push(...(result.latency.samples ?? []));
    }
  }
  return Object.fromEntries([...samples].map(([name, times]) => [name, timingOf(times)]));
}

/** The slope of log(time) over log(size): 1 is linear. */
export function growthExponent(points: readonly { readonly size: number; readonly time: number }[]): number {
  const xs = points.map(({ size }) => Math.log(size));
  const ys = points.map(({ time }) => Math.log(time));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [mx, my] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, x, at) => sum + (x - mx) * ((ys[at] ?? my) - my), 0);
  return covariance / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0);
}
