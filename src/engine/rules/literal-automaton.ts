import { buildLiteralTrie, type LiteralTrie } from './literal-trie.js';
import { readSymbols, SYMBOL_COUNT, type SymbolRow } from './symbols.js';

/** What a scan met, in the order in which it ended. Kept from scan to scan and only ever grown. */
export interface LiteralLog {
  size: number;
  literals: Int32Array;
  /** Where each ended, UTF-16 code units. */
  places: Int32Array;
}

/** Finds which of many literals occur in a text, in one pass whose time doesn't depend on how many there are. */
export interface LiteralAutomaton {
  /** Logs each literal wherever it ends, and leaves the text's symbols in the row. Forgets what the log held. */
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
  const { symbol: symbols, literal, shallow } = trie;
  const table = layOut(trie);
  const cells = layCells(trie);

  const emit = (from: number, place: number, log: LiteralLog): void => {
    for (let at = from; at !== 0; at = cells[CELL * (cells[CELL * at + FAIL] as number) + OUTPUT] as number) {
      if (log.size === log.literals.length) grow(log);
      log.literals[log.size] = literal[at] as number;
      log.places[log.size++] = place;
    }
  };
  const deepStep = (from: number, symbol: number): number => {
    let at = from;
    while (at >= shallow) {
      const cell = CELL * at;
      const end = cells[cell + END] as number;
      for (let child = cells[cell] as number; child < end; child++) if (symbols[child] === symbol) return child;
      at = cells[cell + FAIL] as number;
    }
    return table[at * SYMBOL_COUNT + symbol] as number;
  };

  return {
    scan(text, row, log) {
      log.size = 0;
      readSymbols(text, row);
      const { symbols: read, ends, size } = row;
      let state = 0;
      for (let i = 0; i < size; i++) {
        const symbol = read[i] as number;
        state = state < shallow ? (table[state * SYMBOL_COUNT + symbol] as number) : deepStep(state, symbol);
        const output = cells[CELL * state + OUTPUT] as number;
        if (output !== 0) emit(output, ends[i] as number, log);
      }
    },
  };
}

/** What a step reads of a state lies together: its first child, the end of its children, its fall, its output. */
const CELL = 4;
const END = 1;
const FAIL = 2;
/** The state itself where a literal ends in it, else the nearest one along its falls; 0 for none. */
const OUTPUT = 3;

function layCells({ states, firstChild, literal, fail }: LiteralTrie): Int32Array {
  const cells = new Int32Array(CELL * states);
  for (let state = 0; state < states; state++) {
    const cell = CELL * state;
    const fallen = fail[state] as number;
    cells[cell] = firstChild[state] as number;
    cells[cell + END] = firstChild[state + 1] as number;
    cells[cell + FAIL] = fallen;
    if (state > 0) {
      cells[cell + OUTPUT] = (literal[state] as number) >= 0 ? state : (cells[CELL * fallen + OUTPUT] as number);
    }
  }
  return cells;
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

function grow(log: LiteralLog): void {
  const literals = new Int32Array(2 * log.literals.length);
  const places = new Int32Array(2 * log.places.length);
  literals.set(log.literals);
  places.set(log.places);
  log.literals = literals;
  log.places = places;
}
