import { ASCII_SYMBOL_COUNT, readSymbols, SPACE, SYMBOL_COUNT } from './symbols.js';

/** Finds which of many literals occur in a text, in one pass whose time doesn't depend on how many there are. */
export interface LiteralAutomaton {
  /** Calls `found` for each literal wherever it ends, with the offset of its end, in their order. */
  scan(text: string, found: (literal: number, end: number) => void): void;
  readonly states: number;
}

/**
 * Builds the automaton of Aho and Corasick with all its transitions laid out. A state per distinct prefix of the
 * literals (`isAscii`: all are, which makes it smaller); 2 bytes a transition up to 65,535 states, else 4.
 *
 * @see Aho and Corasick, Efficient string matching: an aid to bibliographic search, CACM 18 (1975)
 */
export function buildLiteralAutomaton(literals: readonly string[], isAscii: boolean): LiteralAutomaton {
  const width = isAscii ? ASCII_SYMBOL_COUNT : SYMBOL_COUNT;
  const trie = buildTrie(literals, isAscii, width);
  const { next, outputs } = close(trie, width);
  const table = trie.states < 65_536 ? Uint16Array.from(next) : next;
  const ends = Uint8Array.from(outputs, (output) => (output ? 1 : 0));

  return {
    states: trie.states,
    scan(text, found) {
      let state = 0;
      const step = (symbol: number, end: number): void => {
        state = table[state * width + symbol] as number;
        if (ends[state] === 1) {
          const output = outputs[state] as Int32Array;
          for (let i = 0; i < output.length; i++) found(output[i] as number, end);
        }
      };
      // A text's first and last characters have edges too.
      step(SPACE, 0);
      readSymbols(text, isAscii, step);
      step(SPACE, text.length);
    },
  };
}

interface Trie {
  readonly next: Int32Array;
  readonly states: number;
  /** Literals that end in a state. */
  readonly ends: ReadonlyMap<number, readonly number[]>;
}

function buildTrie(literals: readonly string[], isAscii: boolean, width: number): Trie {
  let next = new Int32Array(1024 * width);
  let states = 1;
  const ends = new Map<number, number[]>();
  literals.forEach((literal, index) => {
    let state = 0;
    readSymbols(literal, isAscii, (symbol) => {
      const at = state * width + symbol;
      let child = next[at] as number;
      if (child === 0) {
        child = states++;
        if (states * width > next.length) {
          const larger = new Int32Array(next.length * 2);
          larger.set(next);
          next = larger;
        }
        next[at] = child;
      }
      state = child;
    });
    const known = ends.get(state);
    if (known) known.push(index);
    else ends.set(state, [index]);
  });
  return { next: next.slice(0, states * width), states, ends };
}

/**
 * Lays out where each state goes on each symbol, and joins each state's outputs with those of its suffixes. States are
 * renumbered by depth, so that the shallow ones, where a scan spends its time, lie together in memory.
 */
function close(
  { next, states, ends }: Trie,
  width: number,
): {
  readonly next: Int32Array;
  readonly outputs: readonly (Int32Array | undefined)[];
} {
  const rank = new Int32Array(states);
  const queue = new Int32Array(states);
  let tail = 1;
  for (let head = 0; head < tail; head++) {
    const row = (queue[head] as number) * width;
    for (let at = row; at < row + width; at++) {
      const child = next[at] as number;
      if (child === 0) continue;
      rank[child] = tail;
      queue[tail++] = child;
    }
  }
  const closed = new Int32Array(states * width);
  const fail = new Int32Array(states);
  const outputs: (Int32Array | undefined)[] = Array.from({ length: states });
  for (let state = 0; state < states; state++) {
    const trieState = queue[state] as number;
    const own = ends.get(trieState);
    const inherited = state === 0 ? undefined : outputs[fail[state] as number];
    outputs[state] = own ? Int32Array.from([...own, ...(inherited ?? [])]) : inherited;
    const suffix = (fail[state] as number) * width;
    for (let symbol = 0; symbol < width; symbol++) {
      const child = rank[next[trieState * width + symbol] as number] as number;
      const other = state === 0 ? 0 : (closed[suffix + symbol] as number);
      closed[state * width + symbol] = child === 0 ? other : child;
      if (child !== 0) fail[child] = other;
    }
  }
  return { next: closed, outputs };
}
