import { RUN_CAP } from './counted-length.js';
import { buildLiteralTrie, type LiteralTrie } from './literal-trie.js';
import { ASCII_SYMBOLS, FIRST_MARK, FOREIGN, HALF, LEAD, plainCase, SPACE, SYMBOL_COUNT } from './symbols.js';

/** What a scan met, in the order in which it ended. Kept from scan to scan and only ever grown. */
export interface LiteralLog {
  size: number;
  literals: Int32Array;
  /** Where each ended, as `countedLength` counts. */
  places: Int32Array;
  /** What the whole text counts. */
  end: number;
  /** The text holds characters outside ASCII. */
  isForeign: boolean;
}

/** Finds which of many literals occur in a text, in one pass whose time doesn't depend on how many there are. */
export interface LiteralAutomaton {
  /** Logs each literal wherever it ends. Forgets what the log held. */
  scan(text: string, log: LiteralLog): void;
  readonly states: number;
}

export const newLiteralLog = (): LiteralLog => ({
  size: 0,
  literals: new Int32Array(1024),
  places: new Int32Array(1024),
  end: 0,
  isForeign: false,
});

/**
 * Builds the automaton of Aho and Corasick from the literals' symbols, distinct rows. Shallow states have a table of
 * transitions; the deeper ones, which a text seldom reaches, find theirs among their few children or fall back. So it
 * takes a fraction of a megabyte where laying all out took 30, which is what makes it fast: it stays in the cache.
 *
 * @see Aho and Corasick, Efficient string matching: an aid to bibliographic search, CACM 18 (1975)
 */
export function buildLiteralAutomaton(rows: readonly (readonly number[])[], isAscii: boolean): LiteralAutomaton {
  const width = isAscii ? LEAD : SYMBOL_COUNT;
  const trie = buildLiteralTrie(rows);
  const { firstChild, symbol: symbols, fail, literal, shallow, states } = trie;
  const table = layOut(trie, width);
  const output = outputs(trie);

  const emit = (from: number, place: number, log: LiteralLog): void => {
    for (let at = output[from] as number; at !== 0; at = output[fail[at] as number] as number) {
      if (log.size === log.literals.length) grow(log);
      log.literals[log.size] = literal[at] as number;
      log.places[log.size++] = place;
    }
  };
  const step = (from: number, symbol: number): number => {
    let at = from;
    while (at >= shallow) {
      const end = firstChild[at + 1] as number;
      for (let child = firstChild[at] as number; child < end; child++) if (symbols[child] === symbol) return child;
      at = fail[at] as number;
    }
    return table[at * width + symbol] as number;
  };

  return {
    states,
    scan(text, log) {
      const { length } = text;
      log.size = 0;
      log.isForeign = false;
      let state = 0;
      let count = 0;
      let run = 0;
      let wasSpace = false;
      // What the last character was: a space, a letter or digit, anything else; -1 at the start.
      let last = -1;
      // A text's first and last characters have edges too.
      state = step(state, SPACE);
      if (output[state] !== 0) emit(state, count, log);
      for (let i = 0; i < length; i++) {
        let code = text.charCodeAt(i);
        if (code >= 128) {
          code = plainCase(code);
          log.isForeign = true;
        }
        const symbol = code < 128 ? (ASCII_SYMBOLS[code] as number) : FOREIGN;
        const kind = symbol === SPACE ? 0 : symbol < FIRST_MARK ? 1 : 2;
        // Between a letter or digit and a sign stands an edge, before the character counts.
        if (kind + last === 3) {
          state = step(state, SPACE);
          if (output[state] !== 0) emit(state, count, log);
        }
        const isSpace = code === 32 || (code >= 9 && code <= 13 && code !== 11);
        if (isSpace !== wasSpace) {
          run = 0;
          wasSpace = isSpace;
        }
        if (++run <= RUN_CAP) count++;
        if (kind === 0 && last === 0) continue;
        last = kind;
        if (symbol === FOREIGN && !isAscii) {
          state = step(state, LEAD + (code >> 12));
          state = step(state, HALF + ((code >> 8) & 15));
          state = step(state, HALF + ((code >> 4) & 15));
          state = step(state, HALF + (code & 15));
        } else state = step(state, symbol);
        if (output[state] !== 0) emit(state, count, log);
      }
      state = step(state, SPACE);
      if (output[state] !== 0) emit(state, count, log);
      log.end = count;
    },
  };
}

/** Where each shallow state goes on each symbol. */
function layOut({ firstChild, symbol, fail, shallow }: LiteralTrie, width: number): Int32Array {
  const table = new Int32Array(shallow * width);
  for (let state = 0; state < shallow; state++) {
    const row = state * width;
    if (state > 0) table.copyWithin(row, (fail[state] as number) * width, ((fail[state] as number) + 1) * width);
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
