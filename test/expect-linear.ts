import { expect } from 'vitest';

function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Expects that four times the text takes less than `most` times the CPU time: it is about 4 for linear work, 16 for quadratic.
 * The least of three runs counts, since the machine has other work; the long text is run again only if it took too long.
 */
export function expectLinear(unit: string, length: number, work: (text: string) => void, most = 12): void {
  const repeated = (units: number): string => unit.repeat(Math.ceil(units / unit.length));
  const [short, long] = [repeated(length / 4), repeated(length)];
  work(short);
  let longMs = cpuMs(() => work(long));
  const shortMs = Math.min(...[1, 2, 3].map(() => cpuMs(() => work(short))));
  // A millisecond is added to both, so that the clock's grain decides nothing.
  const growth = (): number => (longMs + 1) / (shortMs + 1);
  for (let run = 1; run < 3 && growth() >= most; run += 1)
    longMs = Math.min(
      longMs,
      cpuMs(() => work(long)),
    );
  expect(growth(), `${JSON.stringify(unit)}: CPU time of four times the text`).toBeLessThan(most);
}
