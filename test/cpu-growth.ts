/** CPU milliseconds of one call, the least of three: the machine's other work doesn't count. */
function cpuMs(work: () => void): number {
  const runs = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}

/** How many times the CPU time four times the text takes: about 4 for linear work, 16 for quadratic. */
export function cpuGrowth(unit: string, length: number, work: (text: string) => void): number {
  const repeated = (units: number): string => unit.repeat(Math.ceil(units / unit.length));
  const [short, long] = [repeated(length / 4), repeated(length)];
  work(short);
  // A millisecond is added to both, so that the clock's grain decides nothing.
  return (cpuMs(() => work(long)) + 1) / (cpuMs(() => work(short)) + 1);
}
