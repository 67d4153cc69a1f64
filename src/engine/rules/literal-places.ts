import { RUN_CAP } from './counted-length.js';
import { buildLiteralAutomaton, type LiteralAutomaton } from './literal-automaton.js';
import type { Clause } from './pattern-literals.js';

/** Where the literals of a gate are met in the part of a text that was read last. */
export interface LiteralPlaces {
  /** The number of a clause; equal clauses have the same. */
  idOf(clause: Clause): number;
  /** The literals of a clause. */
  literalsOf(clause: number): readonly number[];
  /** Ends the collecting. */
  build(): { readonly literals: number; readonly states: number };
  /** Reads a part; forgets the places of the one before, not when a literal was last seen. `end` is what the part counts. */
  read(text: string): { readonly generation: number; readonly touched: readonly number[]; readonly end: number };
  /** A literal's places, ascending, as `countedLength` counts. */
  placesOf(literal: number): readonly number[];
  /** True when a literal of the clause has a place in `[from, to]`. */
  isBetween(clause: number, from: number, to: number): boolean;
  seenSince(clause: number, generation: number): boolean;
}

const FOREIGN = /[^\0-\x7f]/;

export function createLiteralPlaces(): LiteralPlaces {
  const clauseIds = new Map<string, number>();
  const literalIds = new Map<string, number>();
  const clauses: number[][] = [];
  let scans: readonly LiteralScan[] = [];
  let places: number[][] = [];
  let seen = new Float64Array(0);
  /** By clause: the generation for which `present` holds its literals that were met. */
  let looked = new Float64Array(0);
  const present: (readonly number[])[] = [];
  let touched: number[] = [];
  let generation = 0;

  const presentOf = (clause: number): readonly number[] => {
    if (looked[clause] !== generation) {
      looked[clause] = generation;
      present[clause] = (clauses[clause] as readonly number[]).filter((literal) => seen[literal] === generation);
    }
    return present[clause] as readonly number[];
  };

  return {
    idOf(clause) {
      const key = clause.join('\n');
      const known = clauseIds.get(key);
      if (known !== undefined) return known;
      const id = clauses.length;
      clauseIds.set(key, id);
      clauses[id] = clause.map((text) => {
        const literal = literalIds.get(text) ?? literalIds.size;
        literalIds.set(text, literal);
        return literal;
      });
      return id;
    },
    literalsOf: (clause) => clauses[clause] as readonly number[],
    build() {
      const made = [true, false].map((isAscii) => {
        const wanted = [...literalIds].filter(([literal]) => FOREIGN.test(literal) !== isAscii);
        const automaton = buildLiteralAutomaton(
          wanted.map(([literal]) => literal),
          isAscii,
        );
        return { isAscii, automaton, ids: Int32Array.from(wanted, ([, id]) => id) };
      });
      scans = made.filter(({ ids }) => ids.length > 0);
      places = Array.from(literalIds, () => []);
      seen = new Float64Array(literalIds.size);
      looked = new Float64Array(clauses.length);
      return { literals: literalIds.size, states: made.reduce((sum, { automaton }) => sum + automaton.states, 0) };
    },
    read(text) {
      touched = [];
      const now = ++generation;
      let end = 0;
      for (const { isAscii, automaton, ids } of scans) {
        if (!isAscii && !FOREIGN.test(text)) continue;
        const counter = createCounter(text);
        automaton.scan(text, (found, offset) => {
          const literal = ids[found] as number;
          if (seen[literal] === now) (places[literal] as number[]).push(counter(offset));
          else {
            seen[literal] = now;
            touched.push(literal);
            places[literal] = [counter(offset)];
          }
        });
        end = counter(text.length);
      }
      return { generation: now, touched, end };
    },
    placesOf: (literal) => places[literal] as readonly number[],
    isBetween(clause, from, to) {
      for (const literal of presentOf(clause)) if (hasBetween(places[literal] as number[], from, to)) return true;
      return false;
    },
    seenSince: (clause, since) => (clauses[clause] as number[]).some((literal) => (seen[literal] as number) >= since),
  };
}

interface LiteralScan {
  readonly isAscii: boolean;
  readonly automaton: LiteralAutomaton;
  /** By literal of the automaton: its number here. */
  readonly ids: Int32Array;
}

/** Counts a text's characters up to ever later offsets, as `countedLength` does. */
function createCounter(text: string): (end: number) => number {
  let read = 0;
  let count = 0;
  let run = 0;
  let wasSpace = false;
  return (end) => {
    for (; read < end; read++) {
      const code = text.charCodeAt(read);
      const isSpace = code === 32 || (code >= 9 && code <= 13 && code !== 11);
      if (isSpace !== wasSpace) run = 0;
      wasSpace = isSpace;
      if (++run <= RUN_CAP) count++;
    }
    return count;
  };
}

/** True when an ascending list holds a number in `[from, to]`. */
function hasBetween(sorted: readonly number[], from: number, to: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length && (sorted[low] as number) <= to;
}
