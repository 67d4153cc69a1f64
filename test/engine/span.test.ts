import { describe, expect, it } from 'vitest';
import { edgeAfter, edgeBefore } from '../../src/engine/span.js';

// text, offset, edge before, edge after
const ROWS: readonly [string, number, number, number][] = [
  ['abc', 1, 1, 1],
  ['a😀b', 1, 1, 1],
  ['a😀b', 2, 1, 3],
  ['a😀b', 3, 3, 3],
  ['😀', 1, 0, 2],
  ['abc', -4, 0, 0],
  ['abc', 9, 3, 3],
  ['', 0, 0, 0],
  ['\udc00a', 0, 0, 0],
];

describe('edges of code points', () => {
  it.each(ROWS)('%j at %d', (text, offset, before, after) => {
    expect([edgeBefore(text, offset), edgeAfter(text, offset)]).toEqual([before, after]);
  });
});
