import { describe, expect, it } from 'vitest';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { type PatternForm, preparePattern } from '../../src/engine/rules/pattern/prepare-pattern.js';

const SEPARATOR = '[ \\n*_~`"\'|>#-]{1,4}';
const words = {
  ignore: ['ignore', 'pay no mind'],
  both: ['{{ignore}}', 'drop'],
  self: ['{{self}}'],
};
const prepare = (source: string, form: PatternForm) =>
  preparePattern(
    source,
    form,
    createWordLookup(words, () => {}),
  );

describe('preparing a pattern', () => {
  it.each([
    ['a space', 'a b', `a${SEPARATOR}b`],
    ['an optional space', 'a ?b', `a(?:${SEPARATOR})?b`],
    ['a space in a class', '[ a]b', '[\\x{20}a]b'],
    ['an escaped space', 'a\\x20b', 'a b'],
    ['a word list', '{{ignore}} it', `(?:ignore|pay${SEPARATOR}no${SEPARATOR}mind)${SEPARATOR}it`],
    ['lists in lists', '{{both}}', `(?:(?:ignore|pay${SEPARATOR}no${SEPARATOR}mind)|drop)`],
    ['accents', 'é|ß|й', 'e|(?:ss)|и'],
    ['a decomposed letter', 'e\u0301a', 'ea'],
    ['a repeated accent', 'é{2,3}', 'e{2,3}'],
    ['a class of accents', '[éè]', '[ee]'],
    ['typographic quotes', '“a”', '"a"'],
    ['captures', '(a)(?<n>b)(?P<m>c)', '(?:a)(?:b)(?:c)'],
    ['flags', '(?i)a(?s:.)', '(?i)a(?s:.)'],
    ['escapes', '\\d\\.\\pL\\p{Greek}\\x41', '\\d\\.\\pL\\p{Greek}A'],
  ])('%s', (name, source, exact) => {
    const prepared = prepare(source, name === 'escapes' ? 'raw' : 'folded');
    expect(prepared.ok ? prepared.pattern.source : prepared.problems).toBe(exact);
  });

  it('leaves raw patterns as they are', () => {
    const prepared = prepare('Ünde [A-Z] é', 'raw');
    expect(prepared.ok && prepared.pattern.source).toBe('Ünde [A-Z] é');
  });

  it.each([
    ['PACK020', 'say {{nothing}}', 4],
    ['PACK021', 'a(b', 1],
    ['PACK021', 'a)', 1],
    ['PACK021', '[a', 0],
    ['PACK021', '*a', 0],
    ['PACK021', 'a{3,2}', 1],
    ['PACK021', 'a(?=b)', 1],
    ['PACK021', '\\1a', 0],
    ['PACK021', '\\qa', 0],
    ['PACK021', 'a\\', 1],
    ['PACK022', 'Ignore', 0],
    ['PACK023', 'a.*b', 1],
    ['PACK023', 'a.+b', 1],
    ['PACK023', 'a.{0,60}b', 1],
    ['PACK023', 'a[^.]{1,13}b', 1],
    ['PACK024', 'a?', 0],
    ['PACK024', '(?:a|)', 0],
    ['PACK025', '[à-ü]', 0],
  ])('refuses %s: %s', (code, source, at) => {
    const prepared = prepare(source, 'folded');
    const found = prepared.ok ? [] : prepared.problems.map((problem) => [problem.code, problem.at]);
    expect(found).toEqual([[code, at]]);
  });

  it('reports the mistake of a word list at the list, once', () => {
    const found: unknown[] = [];
    const lookup = createWordLookup(words, ({ list, entry, problem }) => found.push([list, entry, problem.code]));
    preparePattern('{{self}} a', 'folded', lookup);
    preparePattern('{{self}} b', 'folded', lookup);
    expect(found).toEqual([['self', 0, 'PACK026']]);
  });
});
