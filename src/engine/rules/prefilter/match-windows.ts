import type { Span } from '../../span.js';
import { offsetAt } from './long-runs.js';

/** Keeps for the last two parts read where in each of them an atom may match. Atoms by index. */
export interface MatchWindows {
  /** Begins a part; `skips` as `longRuns` gives them. */
  open(generation: number, length: number, skips: readonly number[]): void;
  /** Widens an atom's window in the part that was opened last, offsets as `countedLength` counts. */
  add(atom: number, from: number, to: number): void;
  /** An atom's window in a part, code units and code-point edges aside; `undefined` when it has none. */
  of(atom: number, generation: number, isEverywhere: boolean): Span | undefined;
}

/** What stands on either side of a match decides `\\b` and the like: a code point. */
const CONTEXT = 2;

interface PartWindows {
  generation: number;
  length: number;
  skips: readonly number[];
  readonly marks: Float64Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
}

export function createMatchWindows(atoms: number): MatchWindows {
  const newPart = (): PartWindows => ({
    generation: 0,
    length: 0,
    skips: [],
    marks: new Float64Array(atoms),
    from: new Float64Array(atoms),
    to: new Float64Array(atoms),
  });
  let here = newPart();
  let before = newPart();
  return {
    open(generation, length, skips) {
      [here, before] = [before, here];
      here.generation = generation;
      here.length = length;
      here.skips = skips;
    },
    add(atom, from, to) {
      const { marks, generation } = here;
      if (marks[atom] !== generation) {
        marks[atom] = generation;
        here.from[atom] = from;
        here.to[atom] = to;
        return;
      }
      here.from[atom] = Math.min(here.from[atom] as number, from);
      here.to[atom] = Math.max(here.to[atom] as number, to);
    },
    of(atom, generation, isEverywhere) {
      const part = here.generation === generation ? here : before;
      if (isEverywhere || part.generation !== generation) return { start: 0, end: Number.POSITIVE_INFINITY };
      if (part.marks[atom] !== generation) return undefined;
      const { length, skips } = part;
      const from = part.from[atom] as number;
      const to = part.to[atom] as number;
      return {
        start: Math.max(0, offsetAt(skips, from) - CONTEXT),
        end: Math.min(length, offsetAt(skips, to + 1) + CONTEXT),
      };
    },
  };
}
