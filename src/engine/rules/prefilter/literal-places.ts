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
  /**
   * Ends the collecting. `isAsked` says of which literals `PartRead.touched` is to tell. From then on a literal has another
   * number: its place in `order`, which gives the one that it had.
   */
  build(isAsked: (literal: number) => boolean): { readonly order: readonly number[] };
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
  /** Those of the literals asked for that were met, each once. Valid until the next part is read. */
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
  /** By literal, a cell of `CELL` numbers: what is read and written of one lies in one line of the processor's cache. */
  let cells = new Int32Array(0);
  /** Which clauses hold a literal, slots of `SLOT` numbers one after the other. */
  let slots = new Int32Array(0);
  /** By clause: when it was seen last, and the slot of its literal met last. */
  let clauseSeen = new Float64Array(0);
  let lastSlot = new Int32Array(0);
  let places = new Int32Array(1024);
  /** The cells of the literals met, in the order in which each was met first. */
  let met = new Int32Array(1024);
  const log = newLiteralLog();
  const symbolRow = newSymbolRow(4096);
  let generation = 0;
  /** Literals met in the part read last. */
  let kinds = 0;

  const literalOf = (text: string): number => {
    const symbols = literalSymbols(text, symbolRow);
    const known = literalIds.get(symbols);
    if (known !== undefined) return known;
    literalIds.set(symbols, rows.length);
    return rows.push(symbols) - 1;
  };

  /** Counts what the log holds by literal; gives how many there are. */
  const countLog = (): number => {
    const { size, literals } = log;
    let kinds = 0;
    for (let i = 0; i < size; i++) {
      for (let literal = literals[i] as number; literal >= 0; ) {
        const cell = literal * CELL;
        if (cells[cell + COUNT] === 0) {
          if (kinds === met.length) met = grown(met);
          met[kinds++] = cell;
        }
        cells[cell + COUNT] = (cells[cell + COUNT] as number) + 1;
        literal = cells[cell + WITHIN] as number;
      }
    }
    return kinds;
  };
  /** Gives each literal met its part of `places`, and notes its clauses. */
  const settle = (kinds: number, touched: number[]): void => {
    let next = 0;
    for (let i = 0; i < kinds; i++) {
      const cell = met[i] as number;
      cells[cell + START] = next;
      cells[cell + FILLED] = next;
      next += cells[cell + COUNT] as number;
      if (cells[cell + IS_ASKED] === 1) touched.push(cell / CELL);
      const end = cells[cell + SLOTS_END] as number;
      for (let slot = cells[cell + SLOTS] as number; slot < end; slot += SLOT) {
        const clause = slots[slot] as number;
        slots[slot + BEFORE] = clauseSeen[clause] === generation ? (lastSlot[clause] as number) : -1;
        clauseSeen[clause] = generation;
        lastSlot[clause] = slot;
      }
    }
    while (next > places.length) places = grown(places);
  };
  const sortLog = (skips: readonly number[]): void => {
    const { size, literals, places: ends } = log;
    for (let i = 0; i < size; i++) {
      const place = skips.length === 0 ? (ends[i] as number) : countedAt(skips, ends[i] as number);
      for (let literal = literals[i] as number; literal >= 0; ) {
        const cell = literal * CELL;
        const at = cells[cell + FILLED] as number;
        places[at] = place;
        cells[cell + FILLED] = at + 1;
        literal = cells[cell + WITHIN] as number;
      }
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
    build(isAsked) {
      // The short ones are met most: together they take few lines of the processor's cache.
      const lengthOf = (literal: number): number => rows[literal]?.length ?? 0;
      const order = rows.map((_, literal) => literal).sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
      automaton = buildLiteralAutomaton(order.map((literal) => rows[literal] as string));
      const holders: number[][] = rows.map(() => []);
      clauses.forEach((literals, clause) => {
        for (const literal of literals) holders[literal]?.push(clause);
      });
      cells = new Int32Array(CELL * rows.length);
      slots = new Int32Array(SLOT * holders.reduce((sum, { length }) => sum + length, 0));
      clauseSeen = new Float64Array(clauses.length);
      lastSlot = new Int32Array(clauses.length);
      let next = 0;
      order.forEach((literal, number) => {
        const cell = number * CELL;
        cells[cell + WITHIN] = automaton.within[number] as number;
        cells[cell + IS_ASKED] = isAsked(literal) ? 1 : 0;
        cells[cell + SLOTS] = next;
        for (const clause of holders[literal] ?? []) {
          slots[next] = clause;
          slots[next + CELL_OF] = cell;
          next += SLOT;
        }
        cells[cell + SLOTS_END] = next;
      });
      return { order };
    },
    read(text) {
      for (let i = 0; i < kinds; i++) cells[(met[i] as number) + COUNT] = 0;
      kinds = 0;
      generation++;
      const touched: number[] = [];
      if (rows.length === 0) return { generation, touched, end: 0, skips: touched, isForeign: false };
      automaton.scan(text, symbolRow, log);
      const skips = longRuns(text);
      kinds = countLog();
      settle(kinds, touched);
      sortLog(skips);
      return { generation, touched, end: countedAt(skips, text.length), skips, isForeign: symbolRow.isForeign };
    },
    countOf: (literal) => cells[literal * CELL + COUNT] as number,
    placeOf: (literal, nth) => places[(cells[literal * CELL + START] as number) + nth] as number,
    isBetween(clause, from, to) {
      if (clauseSeen[clause] !== generation) return false;
      for (let slot = lastSlot[clause] as number; slot >= 0; slot = slots[slot + BEFORE] as number) {
        const cell = slots[slot + CELL_OF] as number;
        if (hasBetween(places, cells[cell + START] as number, cells[cell + COUNT] as number, from, to)) return true;
      }
      return false;
    },
    seenSince: (clause, since) => (clauseSeen[clause] as number) >= since,
  };
}

/** A literal's cell: how often it was met in the part read last, where its places begin, and where the next one goes. */
const CELL = 8;
const COUNT = 0;
const START = 1;
const FILLED = 2;
/** See `LiteralAutomaton.within`. */
const WITHIN = 3;
const SLOTS = 4;
const SLOTS_END = 5;
const IS_ASKED = 6;

/** A slot: its clause, the slot of the clause's literal met before, the cell of its literal. */
const SLOT = 3;
const BEFORE = 1;
const CELL_OF = 2;

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
