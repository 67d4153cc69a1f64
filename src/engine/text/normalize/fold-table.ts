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
export const FOLD: Uint16Array = fillTable(new Uint16Array(0x10000), FOLD_RUNS);

/** The folds of the units of class 0xfffc, which are longer than one unit. */
export const FOLD_LONG: ReadonlyMap<number, string> = new Map(
  FOLD_MULTI.split('|').map((entry) => [entry.charCodeAt(0), entry.slice(1)]),
);

/** Pairs `first << 16 | second` that canonical composition makes one. */
export const FOLD_JOINS: ReadonlySet<number> = readPairs();

function readPairs(): ReadonlySet<number> {
  const pairs = new Set<number>();
  for (let i = 0; i + 1 < FOLD_PAIRS.length; i += 2) {
    pairs.add((FOLD_PAIRS.charCodeAt(i) << 16) | FOLD_PAIRS.charCodeAt(i + 1));
  }
  return pairs;
}

/** Writes generated runs into a table by code unit, and returns it. */
export function fillTable<Table extends Uint8Array | Uint16Array>(table: Table, runs: string): Table {
  readRuns(runs, (unit, target) => {
    table[unit] = target;
  });
  return table;
}

/** Reads generated runs "gap.length.target.step" (base 36). */
export function readRuns(runs: string, put: (codePoint: number, target: number) => void): void {
  let at = 0;
  for (const run of runs.split(' ')) {
    const [gap = 0, length = 0, target = 0, step = 0] = run.split('.').map((part) => Number.parseInt(part, 36));
    at += gap;
    for (let i = 0; i < length; i += 1) put(at + i, target + i * step);
    at += length;
  }
}
