/** Reads a generated table of runs "gap.length.target.step" (base 36) into `table`, indexed by code point. */
export function readRuns(runs: string, put: (codePoint: number, target: number) => void): void {
  let at = 0;
  for (const run of runs.split(' ')) {
    const [gap = 0, length = 0, target = 0, step = 0] = run.split('.').map((part) => Number.parseInt(part, 36));
    at += gap;
    for (let i = 0; i < length; i += 1) put(at + i, target + i * step);
    at += length;
  }
}
