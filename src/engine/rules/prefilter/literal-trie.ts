/**
 * The distinct prefixes of many literals as states, numbered by depth: the children of a state follow one another, and
 * the shallow states, where a scan spends its time, lie together in memory. 0 is the empty prefix.
 */
export interface LiteralTrie {
  readonly states: number;
  /** The children of state s are `firstChild[s] .. firstChild[s + 1] - 1`, by ascending symbol. */
  readonly firstChild: Int32Array;
  /** The symbol that leads into a state. */
  readonly symbol: Uint8Array;
  /** The state of the longest shorter suffix. */
  readonly fail: Int32Array;
  /** The literal that ends in a state; -1 for none. */
  readonly literal: Int32Array;
  /** The first state that no literal of `SHALLOW` symbols or fewer reaches. */
  readonly shallow: number;
}

/** States of this depth or less have their transitions laid out by the automaton. */
const SHALLOW = 2;

/** A run of sorted literals that share a prefix. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Builds the trie of distinct, not empty rows of symbols (its char codes). Memory goes by the states: 13 bytes each. */
export function buildLiteralTrie(rows: readonly string[]): LiteralTrie {
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

function failures({ states, firstChild, symbol }: Omit<LiteralTrie, 'fail'>, parents: readonly number[]): Int32Array {
  const fail = new Int32Array(states);
  for (let state = 1; state < states; state++) {
    const wanted = symbol[state] as number;
    // The children of the root have the root to fall back to.
    for (let at = parents[state] as number; at !== 0; ) {
      at = fail[at] as number;
      const found = childOf(firstChild, symbol, at, wanted);
      if (found === 0) continue;
      fail[state] = found;
      break;
    }
  }
  return fail;
}

/** The child of a state by a symbol; 0 for none. */
function childOf(firstChild: Int32Array, symbol: Uint8Array, state: number, wanted: number): number {
  const end = firstChild[state + 1] as number;
  for (let child = firstChild[state] as number; child < end; child++) if (symbol[child] === wanted) return child;
  return 0;
}
