import { FOLD_MULTI, FOLD_PAIRS } from './generated/fold-multi.js';
import { FOLD_RUNS } from './generated/fold-runs.js';

/** From here on an entry of `FOLD` is a class and no code unit. */
export const FIRST_CLASS = 0xfffa;
/** A mark that stays but may have to change places with a neighbouring one. */
export const MARK = 0xfffa;
/** A sign that may become one with the letter before it. */
export const JOIN = 0xfffb;
export const NEWLINE = 0xfffd;
export const SPACE = 0xfffe;
/** Invisible, or a mark that is not read. */
export const DROP = 0xffff;

/** The folding of each code unit of lower-case text: 0 for itself, a code unit, or one of the classes above. */
export const FOLD: Uint16Array = readTable();

/** The folds of the units of class 0xfffc, which are longer than one unit. */
export const FOLD_LONG: ReadonlyMap<number, string> = readLong();

/** Pairs `first << 16 | second` that canonical composition makes one. */
export const FOLD_JOINS: ReadonlySet<number> = readPairs();

function readTable(): Uint16Array {
  const table = new Uint16Array(0x10000);
  readRuns(FOLD_RUNS, (unit, target) => {
    table[unit] = target;
  });
  return table;
}

function readLong(): ReadonlyMap<number, string> {
  const long = new Map<number, string>();
  for (let i = 0; i + 1 < FOLD_MULTI.length; i += 2)
    long.set((FOLD_MULTI[i] ?? '').charCodeAt(0), FOLD_MULTI[i + 1] ?? '');
  return long;
}

function readPairs(): ReadonlySet<number> {
  const pairs = new Set<number>();
  for (let i = 0; i + 1 < FOLD_PAIRS.length; i += 2) {
    pairs.add((FOLD_PAIRS.charCodeAt(i) << 16) | FOLD_PAIRS.charCodeAt(i + 1));
  }
  return pairs;
}

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
