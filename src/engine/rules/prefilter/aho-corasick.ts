import { encode, SYMBOL_COUNT, type SymbolBuffer } from './alphabet.js';

/**
 * The automaton of Aho and Corasick as flat arrays, so that a pack bundle can hold it. States are numbered by depth. Shallow
 * states have a table of transitions; the deeper ones, which a text seldom reaches, search their few children or fall back.
 * So it takes a fraction of the memory of a full table and stays in the cache.
 *
 * @see Aho and Corasick, Efficient string matching: an aid to bibliographic search, CACM 18 (1975)
 */
export interface AhoCorasick {
  /** Transitions of the shallow states, `SYMBOL_COUNT` each. */
  readonly table: Int32Array;
  /** `CELL` numbers a state: what one step reads of it lies together. */
  readonly cells: Int32Array;
  /** The symbol that leads into each state, with `ENDS` where a literal ends in it: few states are looked up in `cells`. */
  readonly symbols: Uint8Array;
  /** By literal: the longest other literal that is its suffix; -1 for none. */
  readonly suffixes: Int32Array;
}

/** Ends of literals in a text, in order. Reused from scan to scan; it only grows. */
export interface LiteralHits {
  size: number;
  /** The longest literal that ends at each position; `suffixes` leads to the others. */
  literals: Int32Array;
  /** End of each, UTF-16 code units. */
  ends: Int32Array;
}

export function createLiteralHits(): LiteralHits {
  return {
    size: 0,
    literals: new Int32Array(1024),
    ends: new Int32Array(1024),
  };
}

/** First child. */
const CELL = 4;
/** Number of children, and the symbol of the first: the only one of most states. */
const CHILDREN = 1;
const CHILDREN_SHIFT = 8;
const FIRST_SYMBOL = 255;
const FAILURE = 2;
/** The literal that ends in the state, else the nearest one along its failure links; -1 for none. */
const OUTPUT = 3;

/** Added to a symbol, which has seven bits. */
const ENDS = 128;

/** Builds the automaton of distinct, non-empty rows of symbols (as char codes). */
export function buildAhoCorasick(rows: readonly string[]): AhoCorasick {
  const trie = buildTrie(rows);
  const { cells, suffixes } = layOutCells(trie, rows.length);
  const symbols = trie.symbol.map(
    (symbol, state) => symbol + ((cells[CELL * state + OUTPUT] as number) < 0 ? 0 : ENDS),
  );
  return { cells, suffixes, table: layOutTable(trie), symbols };
}

/** Finds where literals end; linear in the text, whatever the number of literals. Leaves the text's symbols in the buffer. */
export function findLiterals(automaton: AhoCorasick, text: string, buffer: SymbolBuffer, hits: LiteralHits): void {
  const { table, cells, symbols } = automaton;
  const shallow = table.length / SYMBOL_COUNT;
  encode(text, buffer);
  const { symbols: read, ends, size } = buffer;
  if (size > hits.literals.length) {
    hits.literals = new Int32Array(2 * size);
    hits.ends = new Int32Array(2 * size);
  }
  const { literals, ends: logged } = hits;
  let found = 0;
  let state = 0;
  for (let i = 0; i < size; i++) {
    const symbol = read[i] as number;
    state =
      state < shallow
        ? (table[state * SYMBOL_COUNT + symbol] as number)
        : stepDeep(table, cells, symbols, shallow, state, symbol);
    if ((symbols[state] as number) < ENDS) continue;
    literals[found] = cells[CELL * state + OUTPUT] as number;
    logged[found++] = ends[i] as number;
  }
  hits.size = found;
}

function stepDeep(
  table: Int32Array,
  cells: Int32Array,
  symbols: Uint8Array,
  shallow: number,
  from: number,
  symbol: number,
): number {
  let at = from;
  while (at >= shallow) {
    const cell = CELL * at;
    const first = cells[cell] as number;
    const children = cells[cell + CHILDREN] as number;
    if ((children & FIRST_SYMBOL) === symbol) return first;
    const end = first + (children >> CHILDREN_SHIFT);
    for (let child = first + 1; child < end; child++) if (((symbols[child] as number) & ~ENDS) === symbol) return child;
    at = cells[cell + FAILURE] as number;
  }
  return table[at * SYMBOL_COUNT + symbol] as number;
}

/**
 * The distinct prefixes of many literals as states, numbered by depth: the children of a state follow one another, and
 * the shallow states, where a scan spends its time, lie together in memory. 0 is the empty prefix.
 */
interface Trie {
  readonly states: number;
  /** The children of state s are `firstChild[s] .. firstChild[s + 1] - 1`, by ascending symbol. */
  readonly firstChild: Int32Array;
  /** The symbol that leads into a state. */
  readonly symbol: Uint8Array;
  /** The failure link: the state of the longest shorter suffix. */
  readonly fail: Int32Array;
  /** The literal that ends in a state; -1 for none. */
  readonly literal: Int32Array;
  /** The first state that no literal of `SHALLOW` symbols or fewer reaches. */
  readonly shallow: number;
}

/** States of this depth or less have a table of transitions. */
const SHALLOW = 2;

interface Range {
  readonly from: number;
  readonly to: number;
}

function buildTrie(rows: readonly string[]): Trie {
  const order = rows.map((_, index) => index).sort((a, b) => ((rows[a] as string) < (rows[b] as string) ? -1 : 1));
  const symbols: number[] = [0];
  const parents: number[] = [0];
  const firstChild: number[] = [];
  const literal: number[] = [-1];
  let layer: readonly Range[] = [{ from: 0, to: rows.length }];
  let shallow = 1;
  let base = 0;
  for (let depth = 0; layer.length > 0; depth++) {
    const below: Range[] = [];
    layer.forEach((range, at) => {
      firstChild.push(symbols.length);
      for (let from = range.from; from < range.to; ) {
        const row = rows[order[from] as number] as string;
        if (row.length === depth) {
          literal[base + at] = order[from++] as number;
          continue;
        }
        const symbol = row.charCodeAt(depth);
        let to = from + 1;
        while (to < range.to && rows[order[to] as number]?.charCodeAt(depth) === symbol) to++;
        symbols.push(symbol);
        parents.push(base + at);
        literal.push(-1);
        below.push({ from, to });
        from = to;
      }
    });
    base += layer.length;
    layer = below;
    if (depth < SHALLOW) shallow = symbols.length;
  }
  const states = symbols.length;
  firstChild.push(states);
  const trie = {
    states,
    firstChild: Int32Array.from(firstChild),
    symbol: Uint8Array.from(symbols),
    literal: Int32Array.from(literal),
    shallow,
  };
  return { ...trie, fail: failures(trie, parents) };
}

function failures({ states, firstChild, symbol }: Omit<Trie, 'fail'>, parents: readonly number[]): Int32Array {
  const fail = new Int32Array(states);
  for (let state = 1; state < states; state++) {
    const wanted = symbol[state] as number;
    // The children of the root have the root to fall back to.
    for (let at = parents[state] as number; at !== 0; ) {
      at = fail[at] as number;
      const found = findChild(firstChild, symbol, at, wanted);
      if (found === 0) continue;
      fail[state] = found;
      break;
    }
  }
  return fail;
}

/** The child of a state by a symbol; 0 for none. */
function findChild(firstChild: Int32Array, symbol: Uint8Array, state: number, wanted: number): number {
  const end = firstChild[state + 1] as number;
  for (let child = firstChild[state] as number; child < end; child++) if (symbol[child] === wanted) return child;
  return 0;
}

function layOutCells(
  { states, firstChild, symbol, literal, fail }: Trie,
  literals: number,
): { readonly cells: Int32Array; readonly suffixes: Int32Array } {
  const cells = new Int32Array(CELL * states);
  const suffixes = new Int32Array(literals);
  for (let state = 0; state < states; state++) {
    const cell = CELL * state;
    const first = firstChild[state] as number;
    const children = (firstChild[state + 1] as number) - first;
    const failure = fail[state] as number;
    const shorter = state === 0 ? -1 : (cells[CELL * failure + OUTPUT] as number);
    const own = literal[state] as number;
    cells[cell] = first;
    cells[cell + CHILDREN] = children === 0 ? FIRST_SYMBOL : (children << CHILDREN_SHIFT) | (symbol[first] as number);
    cells[cell + FAILURE] = failure;
    cells[cell + OUTPUT] = own >= 0 ? own : shorter;
    if (own >= 0) suffixes[own] = shorter;
  }
  return { cells, suffixes };
}

function layOutTable({ firstChild, symbol, fail, shallow }: Trie): Int32Array {
  const table = new Int32Array(shallow * SYMBOL_COUNT);
  for (let state = 0; state < shallow; state++) {
    const row = state * SYMBOL_COUNT;
    if (state > 0) {
      const failure = (fail[state] as number) * SYMBOL_COUNT;
      table.copyWithin(row, failure, failure + SYMBOL_COUNT);
    }
    const end = firstChild[state + 1] as number;
    for (let child = firstChild[state] as number; child < end; child++) table[row + (symbol[child] as number)] = child;
  }
  return table;
}
