import { createLiteralHits, findLiterals } from './aho-corasick.js';
import { createSymbolBuffer } from './alphabet.js';
import type { LiteralIndex } from './literal-index.js';

/**
 * Occurrences of the literals of an index in the text scanned last. Kept from scan to scan, so that a scan allocates nothing
 * and clears only what the one before it found.
 */
export interface LiteralMatches {
  /** Finds all literals. Forgets the text before. */
  scan(text: string): LiteralScan;
  /** Counts the occurrences of a literal of `LiteralScan.found`. */
  count(literal: number): number;
  /** Gives the end of its nth occurrence, ascending, UTF-16 code units. */
  end(literal: number, nth: number): number;
  /** True when an occurrence of the set ends in `[from, to]`. */
  endsBetween(set: number, from: number, to: number): boolean;
  /** Lists where occurrences of the set end in `[from, to]`, in no order. */
  listEnds(set: number, from: number, to: number): readonly number[];
  /** True when the set occurs. */
  occurs(set: number): boolean;
  /** Counts the occurrences of a set that occurs, and gives the ends of the first and the last. */
  extent(set: number): { readonly count: number; readonly first: number; readonly last: number };
}

export interface LiteralScan {
  /** The literals of trigger sets that occur, each once. */
  readonly found: readonly number[];
  readonly hasNonAscii: boolean;
}

/** Numbers that are kept of each literal. */
const CELL = 4;
/** Number of its occurrences; start of its positions, and place of the next one. */
const COUNT = 0;
const START = 1;
const NEXT = 2;

/** A link, for each literal of each set: to the link of the set's literal found before, and the literal. */
const LINK = 2;
const BEFORE = 0;
const LITERAL = 1;

/** `isTrigger` says of a set whether `LiteralScan.found` is to list its literals. */
// Long: three loops over the same typed arrays, which stay local for V8.
export function createLiteralMatches(
  { automaton, setsByLiteral, sets }: LiteralIndex,
  isTrigger: (set: number) => boolean,
): LiteralMatches {
  const { suffixes } = automaton;
  const { first, items } = setsByLiteral;
  const triggerSets = Uint8Array.from({ length: sets }, (_, set) => Number(isTrigger(set)));
  // Zeros: most literals never occur, and what is not touched takes no memory.
  const cells = new Int32Array(CELL * suffixes.length);
  const links = new Int32Array(LINK * items.length);
  /** By set: the scan that it was last seen in, and the link of its literal found last. */
  const lastSeen = new Float64Array(sets);
  const lastLink = new Int32Array(sets);
  let ends = new Int32Array(1024);
  /** The literals found, by first occurrence. */
  let found = new Int32Array(1024);
  let foundCount = 0;
  const hits = createLiteralHits();
  const buffer = createSymbolBuffer(4096);
  let scans = 0;

  const countHits = (): void => {
    const { size, literals } = hits;
    for (let i = 0; i < size; i++) {
      for (let literal = literals[i] as number; literal >= 0; literal = suffixes[literal] as number) {
        const cell = literal * CELL;
        if (cells[cell + COUNT] === 0) {
          if (foundCount === found.length) found = grow(found);
          found[foundCount++] = literal;
        }
        cells[cell + COUNT] = (cells[cell + COUNT] as number) + 1;
      }
    }
  };
  /** Gives each literal its part of `ends`, and marks its sets as seen. */
  const markSets = (): number[] => {
    const triggers: number[] = [];
    let next = 0;
    for (let i = 0; i < foundCount; i++) {
      const literal = found[i] as number;
      const cell = literal * CELL;
      cells[cell + START] = next;
      cells[cell + NEXT] = next;
      next += cells[cell + COUNT] as number;
      let isListed = 0;
      const end = first[literal + 1] as number;
      for (let item = first[literal] as number; item < end; item++) {
        const set = items[item] as number;
        const link = LINK * item;
        isListed |= triggerSets[set] as number;
        links[link + LITERAL] = literal;
        if (lastSeen[set] === scans) links[link + BEFORE] = lastLink[set] as number;
        else {
          links[link + BEFORE] = -1;
          lastSeen[set] = scans;
        }
        lastLink[set] = link;
      }
      if (isListed === 1) triggers.push(literal);
    }
    while (next > ends.length) ends = grow(ends);
    return triggers;
  };
  /** Writes each literal's occurrences into its part of `ends`. */
  const sortHits = (): void => {
    const { size, literals, ends: logged } = hits;
    for (let i = 0; i < size; i++) {
      for (let literal = literals[i] as number; literal >= 0; literal = suffixes[literal] as number) {
        const cell = literal * CELL;
        const at = cells[cell + NEXT] as number;
        ends[at] = logged[i] as number;
        cells[cell + NEXT] = at + 1;
      }
    }
  };

  return {
    scan(text) {
      for (let i = 0; i < foundCount; i++) cells[CELL * (found[i] as number) + COUNT] = 0;
      foundCount = 0;
      scans++;
      if (suffixes.length === 0) return { found: [], hasNonAscii: false };
      findLiterals(automaton, text, buffer, hits);
      countHits();
      const triggers = markSets();
      sortHits();
      return { found: triggers, hasNonAscii: buffer.hasNonAscii };
    },
    count: (literal) => cells[literal * CELL + COUNT] as number,
    end: (literal, nth) => ends[(cells[literal * CELL + START] as number) + nth] as number,
    endsBetween(set, from, to) {
      if (lastSeen[set] !== scans) return false;
      for (let link = lastLink[set] as number; link >= 0; link = links[link + BEFORE] as number) {
        const cell = CELL * (links[link + LITERAL] as number);
        if (hasBetween(ends, cells[cell + START] as number, cells[cell + COUNT] as number, from, to)) return true;
      }
      return false;
    },
    listEnds(set, from, to) {
      if (lastSeen[set] !== scans) return [];
      const listed: number[] = [];
      for (let link = lastLink[set] as number; link >= 0; link = links[link + BEFORE] as number) {
        const cell = CELL * (links[link + LITERAL] as number);
        const start = cells[cell + START] as number;
        const stop = start + (cells[cell + COUNT] as number);
        for (let i = start; i < stop; i++) {
          const end = ends[i] as number;
          if (end >= from && end <= to) listed.push(end);
        }
      }
      return listed;
    },
    occurs: (set) => lastSeen[set] === scans,
    extent(set) {
      let count = 0;
      let first = Number.POSITIVE_INFINITY;
      let last = 0;
      for (let link = lastLink[set] as number; link >= 0; link = links[link + BEFORE] as number) {
        const cell = CELL * (links[link + LITERAL] as number);
        const start = cells[cell + START] as number;
        const own = cells[cell + COUNT] as number;
        count += own;
        first = Math.min(first, ends[start] as number);
        last = Math.max(last, ends[start + own - 1] as number);
      }
      return { count, first, last };
    },
  };
}

function grow(list: Int32Array): Int32Array<ArrayBuffer> {
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
