import { describe, expect, it } from 'vitest';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { preparePattern } from '../../src/engine/rules/pattern/prepare-pattern.js';

const words = createWordLookup({}, () => {});

/** By pattern: the literals of each required set of each alternative. */
const table: readonly (readonly [string, readonly (readonly (readonly string[])[])[]])[] = [
  ['\\bdrop table\\b', [[[' drop table ']]]],
  // Each option on its own; those with a single set are merged.
  ['\\b(?:red|blue)\\b', [[[' red ', ' blue ']]]],
  ['\\b(?:ignore \\w+ rules|forget)\\b', [[[' ignore '], [' rules ']], [[' forget ']]]],
  // A repeated class gives its first letters and its last.
  [
    '\\bdro[pt]{2,5} it',
    [
      [
        [' dropp', ' dropt', ' drotp', ' drott'],
        ['pp it', 'pt it', 'tp it', 'tt it'],
      ],
    ],
  ],
  // Quotes and spaces are one to the literals.
  ['say ["\'` ]now["\'` ]', [[['say now ']]]],
  // A bracket is no part of a word: an edge stands after it.
  ['[({]secret', [[['( secret', '{ secret']]]],
  ['\\w+', []],
];

describe('the required literals of a pattern', () => {
  it.each(table)('%s', (source, alternatives) => {
    const made = preparePattern(source, 'folded', words);
    expect(
      made.ok && made.pattern.alternatives.map(({ required }) => required.map(({ literals }) => literals)),
    ).toEqual(alternatives);
  });

  it('have positions', () => {
    const made = preparePattern('\\bsend (?:\\w+ )*away\\b', 'folded', words);
    const positions = made.ok && made.pattern.alternatives[0]?.required.map(({ from, to }) => ({ from, to }));
    expect(positions).toEqual([
      { from: { unbounded: 0, offset: 0 }, to: { unbounded: 0, offset: 8 } },
      { from: { unbounded: 1, offset: 0 }, to: { unbounded: 1, offset: 4 } },
    ]);
  });
});
