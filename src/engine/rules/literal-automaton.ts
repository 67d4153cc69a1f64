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
 * Builds the automaton of Aho and Corasick from the literals' symbols, distinct rows. Shallow states have a table of
 * transitions; the deeper ones, which a text seldom reaches, find theirs among their few children or fall back. So it
 * takes a fraction of what laying all out took, which is what makes it fast: it stays in the cache.
 *
 * @see Aho and Corasick, Efficient string matching: an aid to bibliographic search, CACM 18 (1975)
 */
export function buildLiteralAutomaton(rows: readonly (readonly number[])[]): LiteralAutomaton {
  const trie = buildLiteralTrie(rows);
  const { firstChild, symbol: symbols, fail, literal, shallow } = trie;
  const table = layOut(trie);
  const output = outputs(trie);

  const emit = (from: number, place: number, log: LiteralLog): void => {
    for (let at = output[from] as number; at !== 0; at = output[fail[at] as number] as number) {
      if (log.size === log.literals.length) grow(log);
      log.literals[log.size] = literal[at] as number;
      log.places[log.size++] = place;
    }
  };
  const deepStep = (from: number, symbol: number): number => {
    let at = from;
    while (at >= shallow) {
      const end = firstChild[at + 1] as number;
      for (let child = firstChild[at] as number; child < end; child++) if (symbols[child] === symbol) return child;
      at = fail[at] as number;
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
        if (output[state] !== 0) emit(state, ends[i] as number, log);
      }
    },
  };
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

/** By state: the state itself where a literal ends in it, else the nearest one along its falls; 0 for none. */
function outputs({ states, literal, fail }: LiteralTrie): Int32Array {
  const output = new Int32Array(states);
  for (let state = 1; state < states; state++) {
    output[state] = (literal[state] as number) >= 0 ? state : (output[fail[state] as number] as number);
  }
  return output;
}

function grow(log: LiteralLog): void {
  const literals = new Int32Array(2 * log.literals.length);
  const places = new Int32Array(2 * log.places.length);
  literals.set(log.literals);
  places.set(log.places);
  log.literals = literals;
  log.places = places;
}
