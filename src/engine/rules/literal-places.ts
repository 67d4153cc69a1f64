import type { Clause } from './clause.js';
import { buildLiteralAutomaton, newLiteralLog } from './literal-automaton.js';
import { countedAt, longRuns } from './long-runs.js';
import { literalSymbols, newSymbolRow } from './symbols.js';

/** Where the literals of a gate are met in the part of a text that was read last. */
export interface LiteralPlaces {
  /** The number of a clause; equal clauses have the same. */
  idOf(clause: Clause): number;
  /** The literals of a clause. */
  literalsOf(clause: number): readonly number[];
  /** Ends the collecting. */
  build(): { readonly literals: number };
  /** Reads a part; forgets the places of the one before, not when a clause was last seen. */
  read(text: string): PartRead;
  /** How often a literal that was touched was met. */
  countOf(literal: number): number;
  /** Its nth place, ascending, as `countedLength` counts. */
  placeOf(literal: number, nth: number): number;
  /** True when a literal of the clause has a place in `[from, to]`. */
  isBetween(clause: number, from: number, to: number): boolean;
  seenSince(clause: number, generation: number): boolean;
}

/** What was read of a part. */
export interface PartRead {
  readonly generation: number;
  /** The literals that were met, each once. Valid until the next part is read. */
  readonly touched: readonly number[];
  /** What the part counts. */
  readonly end: number;
  /** See `longRuns`. */
  readonly skips: readonly number[];
  readonly isForeign: boolean;
}

export function createLiteralPlaces(): LiteralPlaces {
  const clauseIds = new Map<string, number>();
  const literalIds = new Map<string, number>();
  const rows: string[] = [];
  const clauses: (readonly number[])[] = [];
  let automaton = buildLiteralAutomaton([]);
  /** By literal: when it was seen last, how often then, and where its places begin. */
  let seen = new Float64Array(0);
  let counts = new Int32Array(0);
  let starts = new Int32Array(0);
  /** Which clauses hold a literal: `slotClause` from `firstSlot[literal]` to `firstSlot[literal + 1]`. */
  let firstSlot = new Int32Array(0);
  let slotClause = new Int32Array(0);
  let slotLiteral = new Int32Array(0);
  /** By clause: when it was seen last, and the slot of its literal met last; by slot: that of the one met before. */
  let clauseSeen = new Float64Array(0);
  let lastSlot = new Int32Array(0);
  let slotBefore = new Int32Array(0);
  let places = new Int32Array(1024);
  const log = newLiteralLog();
  const symbolRow = newSymbolRow(4096);
  let generation = 0;

  const literalOf = (text: string): number => {
    const symbols = literalSymbols(text, symbolRow);
    const known = literalIds.get(symbols);
    if (known !== undefined) return known;
    literalIds.set(symbols, rows.length);
    return rows.push(symbols) - 1;
  };

  /** Puts what the log holds by literal. */
  const sortLog = (skips: readonly number[], touched: number[]): void => {
    const { size, literals, places: met } = log;
    for (let i = 0; i < size; i++) {
      const literal = literals[i] as number;
      if (seen[literal] === generation) counts[literal] = (counts[literal] as number) + 1;
      else {
        seen[literal] = generation;
        counts[literal] = 1;
        touched.push(literal);
      }
    }
    let next = 0;
    for (const literal of touched) {
      starts[literal] = next;
      next += counts[literal] as number;
      counts[literal] = 0;
    }
    while (next > places.length) places = grown(places);
    for (let i = 0; i < size; i++) {
      const literal = literals[i] as number;
      places[(starts[literal] as number) + (counts[literal] as number)] =
        skips.length === 0 ? (met[i] as number) : countedAt(skips, met[i] as number);
      counts[literal] = (counts[literal] as number) + 1;
    }
  };

  return {
    idOf(clause) {
      const key = clause.join('\n');
      const known = clauseIds.get(key);
      if (known !== undefined) return known;
      const id = clauses.length;
      clauseIds.set(key, id);
      clauses[id] = [...new Set(clause.map(literalOf))];
      return id;
    },
    literalsOf: (clause) => clauses[clause] as readonly number[],
    build() {
      automaton = buildLiteralAutomaton(rows);
      seen = new Float64Array(rows.length);
      counts = new Int32Array(rows.length);
      starts = new Int32Array(rows.length);
      clauseSeen = new Float64Array(clauses.length);
      lastSlot = new Int32Array(clauses.length);
      firstSlot = new Int32Array(rows.length + 1);
      for (const literal of clauses.flat()) firstSlot[literal + 1] = (firstSlot[literal + 1] as number) + 1;
      for (let literal = 0; literal < rows.length; literal++) {
        firstSlot[literal + 1] = (firstSlot[literal + 1] as number) + (firstSlot[literal] as number);
      }
      const slots = firstSlot[rows.length] as number;
      slotClause = new Int32Array(slots);
      slotLiteral = new Int32Array(slots);
      slotBefore = new Int32Array(slots);
      const next = firstSlot.slice();
      clauses.forEach((literals, clause) => {
        for (const literal of literals) {
          const slot = next[literal] as number;
          next[literal] = slot + 1;
          slotClause[slot] = clause;
          slotLiteral[slot] = literal;
        }
      });
      return { literals: rows.length };
    },
    read(text) {
      generation++;
      const touched: number[] = [];
      if (rows.length === 0) return { generation, touched, end: 0, skips: touched, isForeign: false };
      automaton.scan(text, symbolRow, log);
      const skips = longRuns(text);
      sortLog(skips, touched);
      for (const literal of touched) {
        const end = firstSlot[literal + 1] as number;
        for (let slot = firstSlot[literal] as number; slot < end; slot++) {
          const clause = slotClause[slot] as number;
          slotBefore[slot] = clauseSeen[clause] === generation ? (lastSlot[clause] as number) : -1;
          clauseSeen[clause] = generation;
          lastSlot[clause] = slot;
        }
      }
      return { generation, touched, end: countedAt(skips, text.length), skips, isForeign: symbolRow.isForeign };
    },
    countOf: (literal) => counts[literal] as number,
    placeOf: (literal, nth) => places[(starts[literal] as number) + nth] as number,
    isBetween(clause, from, to) {
      if (clauseSeen[clause] !== generation) return false;
      for (let slot = lastSlot[clause] as number; slot >= 0; slot = slotBefore[slot] as number) {
        const literal = slotLiteral[slot] as number;
        if (hasBetween(places, starts[literal] as number, counts[literal] as number, from, to)) return true;
      }
      return false;
    },
    seenSince: (clause, since) => (clauseSeen[clause] as number) >= since,
  };
}

function grown(list: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * list.length);
  larger.set(list);
  return larger;
}

/** True when the ascending run of `count` numbers from `start` on holds one in `[from, to]`. */
function hasBetween(list: Int32Array, start: number, count: number, from: number, to: number): boolean {
  let low = start;
  let high = start + count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  return low < start + count && (list[low] as number) <= to;
}
