import { describe, expect, it } from 'vitest';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { foldLiteral } from '../../src/engine/rules/pattern/fold-literal.js';
import { preparePattern } from '../../src/engine/rules/pattern/prepare-pattern.js';

const words = createWordLookup({}, () => {});

/** By pattern: the texts of each clause of each way. */
const table: readonly (readonly [string, readonly (readonly (readonly string[])[])[]])[] = [
  ['\\bdrop table\\b', [[[' drop table ']]]],
  // Each option for itself; those with one clause are one way.
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

describe('what a pattern needs', () => {
  it.each(table)('%s', (source, ways) => {
    const made = preparePattern(source, 'folded', words, foldLiteral);
    expect(made.ok && made.pattern.literals.map(({ clauses }) => clauses.map(({ texts }) => texts))).toEqual(ways);
  });

  it('says how far apart its clauses can stand', () => {
    const made = preparePattern('\\bsend (?:\\w+ )*away\\b', 'folded', words, foldLiteral);
    const places = made.ok && made.pattern.literals[0]?.clauses.map(({ from, to }) => ({ from, to }));
    expect(places).toEqual([
      { from: { stretch: 0, at: 0 }, to: { stretch: 0, at: 8 } },
      { from: { stretch: 1, at: 0 }, to: { stretch: 1, at: 4 } },
    ]);
  });
});
