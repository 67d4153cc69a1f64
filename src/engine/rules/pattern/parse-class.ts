import type { ClassItem, PatternNode, PatternProblem } from './pattern-node.js';
import { type EscapeReading, readEscape } from './read-escape.js';

export interface ClassReading {
  readonly node: PatternNode;
  readonly end: number;
}

const problem = (message: string, advice: string, at: number, length = 1): PatternProblem => ({
  code: 'PACK021',
  message,
  advice,
  at,
  length,
});

/** Reads a `[...]` class that starts at `at`. */
export function parseClass(source: string, at: number): ClassReading | PatternProblem {
  let i = at + 1;
  const negated = source[i] === '^';
  if (negated) i++;
  const items: ClassItem[] = [];
  let first = true;
  for (;;) {
    if (i >= source.length) return problem('This character class is never closed.', 'Add the closing `]`.', at);
    if (source[i] === ']' && !first) return { node: { kind: 'class', negated, items, at }, end: i + 1 };
    first = false;
    if (source.startsWith('[:', i)) {
      const close = source.indexOf(':]', i);
      if (close < 0) return problem('This named class is never closed.', 'Write `[:alpha:]` or escape the `[`.', i, 2);
      items.push({ escape: source.slice(i, close + 2) });
      i = close + 2;
      continue;
    }
    const low = readMember(source, i);
    if ('code' in low) return low;
    i = low.end;
    if (source[i] !== '-' || source[i + 1] === ']' || low.point === undefined) {
      items.push(low.point === undefined ? { escape: low.source } : { low: low.point, high: low.point });
      continue;
    }
    const high = readMember(source, i + 1);
    if ('code' in high) return high;
    if (high.point === undefined || high.point < low.point) {
      return problem('This range has no order.', 'Write the lower character first.', i - 1, high.end - i + 1);
    }
    items.push({ low: low.point, high: high.point });
    i = high.end;
  }
}

function readMember(source: string, at: number): EscapeReading | PatternProblem {
  if (source[at] === '\\') return readEscape(source, at);
  const point = source.codePointAt(at);
  if (point === undefined) return problem('The pattern ends inside a character class.', 'Add the closing `]`.', at);
  const text = String.fromCodePoint(point);
  return { point, source: text, end: at + text.length };
}
