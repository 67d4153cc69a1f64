import { RUN_CAP } from './counted-length.js';
import { buildLiteralAutomaton } from './literal-automaton.js';
import type { Clause } from './pattern-literals.js';

/** Where the clauses of a gate are met in the part of a text that was read last. */
export interface ClausePlaces {
  /** The number of a clause; equal clauses have the same. */
  idOf(clause: Clause): number;
  /** Ends the collecting. */
  build(): { readonly literals: number; readonly states: number };
  /** Reads a part; forgets the places of the one before, not when a clause was last seen. */
  read(text: string): { readonly generation: number; readonly touched: readonly number[]; readonly end: number };
  /** Ascending; as `countedLength` counts. */
  placesOf(clause: number): readonly number[];
  /** True when each of some clauses has a place in `[from, to]`. */
  allNear(clauses: readonly number[], from: number, to: number): boolean;
  seenSince(clause: number, generation: number): boolean;
}

/** Characters kept of a literal: more would add states and hardly any sharpness. */
const MAX_LITERAL = 9;

export function createClausePlaces(): ClausePlaces {
  const clauseIds = new Map<string, number>();
  const literalIds = new Map<string, number>();
  /** By literal: its clauses. */
  const clausesOf: number[][] = [];
  let scan: ReturnType<typeof buildLiteralAutomaton>['scan'] = () => {};
  let places: number[][] = [];
  let seen = new Float64Array(0);
  let touched: number[] = [];
  let generation = 0;

  return {
    idOf(clause) {
      const texts = [...new Set(clause.map((text) => [...text].slice(0, MAX_LITERAL).join('')))];
      const key = texts.sort().join('\n');
      const known = clauseIds.get(key);
      if (known !== undefined) return known;
      const id = clauseIds.size;
      clauseIds.set(key, id);
      for (const text of texts) {
        const literal = literalIds.get(text) ?? literalIds.size;
        literalIds.set(text, literal);
        clausesOf[literal] = [...(clausesOf[literal] ?? []), id];
      }
      return id;
    },
    build() {
      const automaton = buildLiteralAutomaton([...literalIds.keys()]);
      scan = automaton.scan;
      places = Array.from(clauseIds, () => []);
      seen = new Float64Array(clauseIds.size);
      return { literals: literalIds.size, states: automaton.states };
    },
    read(text) {
      for (const clause of touched) (places[clause] as number[]).length = 0;
      touched = [];
      const now = ++generation;
      let read = 0;
      let count = 0;
      let run = 0;
      let wasSpace = false;
      const countTo = (end: number): number => {
        for (; read < end; read++) {
          const code = text.charCodeAt(read);
          const isSpace = code === 32 || (code >= 9 && code <= 13 && code !== 11);
          if (isSpace !== wasSpace) run = 0;
          wasSpace = isSpace;
          if (++run <= RUN_CAP) count++;
        }
        return count;
      };
      scan(text, (literal, end) => {
        const at = countTo(end);
        for (const clause of clausesOf[literal] as readonly number[]) {
          const known = places[clause] as number[];
          if (known.length === 0) {
            touched.push(clause);
            seen[clause] = now;
          }
          if (known[known.length - 1] !== at) known.push(at);
        }
      });
      return { generation: now, touched, end: countTo(text.length) };
    },
    placesOf: (clause) => places[clause] as readonly number[],
    allNear(clauses, from, to) {
      for (const clause of clauses) if (!hasBetween(places[clause] as readonly number[], from, to)) return false;
      return true;
    },
    seenSince: (clause, since) => (seen[clause] as number) >= since,
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
