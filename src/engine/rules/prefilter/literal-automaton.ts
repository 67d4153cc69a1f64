import { buildLiteralTrie, type LiteralTrie } from './literal-trie.js';
import { readSymbols, SYMBOL_COUNT, type SymbolRow } from './symbols.js';

/** What a scan met, in the order in which it ended. Kept from scan to scan and only ever grown. */
export interface LiteralLog {
  size: number;
  /** The longest literal that ended at each place; `within` leads to the others. */
  literals: Int32Array;
  /** Where each ended, UTF-16 code units. */
  places: Int32Array;
}

/** Finds which of many literals occur in a text, in one pass whose time doesn't depend on how many there are. */
export interface LiteralAutomaton {
  /** By literal: the longest other one that ends wherever it does; -1 for none. */
  readonly within: Int32Array;
  /** Logs where literals end, and leaves the text's symbols in the row. Forgets what the log held. */
  scan(text: string, row: SymbolRow, log: LiteralLog): void;
}

export const newLiteralLog = (): LiteralLog => ({
  size: 0,
  literals: new Int32Array(1024),
  places: new Int32Array(1024),
});

/**
 * Builds the automaton of Aho and Corasick from the literals' symbols, distinct rows of char codes. Shallow states have a table of
 * transitions; the deeper ones, which a text seldom reaches, find theirs among their few children or fall back. So it
 * takes a fraction of what laying all out took, which is what makes it fast: it stays in the cache.
 *
 * @see Aho and Corasick, Efficient string matching: an aid to bibliographic search, CACM 18 (1975)
 */
export function buildLiteralAutomaton(rows: readonly string[]): LiteralAutomaton {
  const trie = buildLiteralTrie(rows);
  const { symbol: symbols, shallow } = trie;
  const table = layOut(trie);
  const { cells, within } = layCells(trie, rows.length);

  const deepStep = (from: number, symbol: number): number => {
    let at = from;
    while (at >= shallow) {
      const cell = CELL * at;
      const first = cells[cell] as number;
      const brood = cells[cell + BROOD] as number;
      if ((brood & FIRST_SYMBOL) === symbol) return first;
      const end = first + (brood >> BROOD_SHIFT);
      for (let child = first + 1; child < end; child++) if (symbols[child] === symbol) return child;
      at = cells[cell + FAIL] as number;
    }
    return table[at * SYMBOL_COUNT + symbol] as number;
  };

  return {
    within,
    scan(text, row, log) {
      readSymbols(text, row);
      const { symbols: read, ends, size } = row;
      if (size > log.literals.length) grow(log, size);
      const { literals, places } = log;
      let met = 0;
      let state = 0;
      for (let i = 0; i < size; i++) {
        const symbol = read[i] as number;
        state = state < shallow ? (table[state * SYMBOL_COUNT + symbol] as number) : deepStep(state, symbol);
        const output = cells[CELL * state + OUTPUT] as number;
        if (output < 0) continue;
        literals[met] = output;
        places[met++] = ends[i] as number;
      }
      log.size = met;
    },
  };
}

/** What a step reads of a state lies together: its first child, its children in short, its fall, its output. */
const CELL = 4;
/** How many children there are, and the symbol of the first: the only one of most states. */
const BROOD = 1;
const BROOD_SHIFT = 8;
const FIRST_SYMBOL = 255;
const FAIL = 2;
/** The literal that ends in the state, else the nearest one along its falls; -1 for none. */
const OUTPUT = 3;

function layCells(
  { states, firstChild, symbol, literal, fail }: LiteralTrie,
  literals: number,
): { readonly cells: Int32Array; readonly within: Int32Array } {
  const cells = new Int32Array(CELL * states);
  const within = new Int32Array(literals);
  for (let state = 0; state < states; state++) {
    const cell = CELL * state;
    const first = firstChild[state] as number;
    const children = (firstChild[state + 1] as number) - first;
    const fallen = fail[state] as number;
    const shorter = state === 0 ? -1 : (cells[CELL * fallen + OUTPUT] as number);
    const own = literal[state] as number;
    cells[cell] = first;
    cells[cell + BROOD] = children === 0 ? FIRST_SYMBOL : (children << BROOD_SHIFT) | (symbol[first] as number);
    cells[cell + FAIL] = fallen;
    cells[cell + OUTPUT] = own >= 0 ? own : shorter;
    if (own >= 0) within[own] = shorter;
  }
  return { cells, within };
}

/** Where each shallow state goes on each symbol. */
function layOut({ firstChild, symbol, fail, shallow }: LiteralTrie): Int32Array {
  const table = new Int32Array(shallow * SYMBOL_COUNT);
  for (let state = 0; state < shallow; state++) {
    const row = state * SYMBOL_COUNT;
    if (state > 0) {
      const fallen = (fail[state] as number) * SYMBOL_COUNT;
      table.copyWithin(row, fallen, fallen + SYMBOL_COUNT);
    }
    const end = firstChild[state + 1] as number;
    for (let child = firstChild[state] as number; child < end; child++) table[row + (symbol[child] as number)] = child;
  }
  return table;
}

function grow(log: LiteralLog, size: number): void {
  log.literals = new Int32Array(2 * size);
  log.places = new Int32Array(2 * size);
}
