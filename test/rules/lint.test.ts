import { describe, expect, it } from 'vitest';
import { showRule } from '../../src/cli/rules/list-rules.js';
import { paintFor } from '../../src/cli/terminal.js';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { preparePatterns } from '../../src/engine/rules/pattern/prepare-patterns.js';
import type { Rule } from '../../src/engine/rules/types.js';
import { type LintOptions, lintPack } from '../../src/rule-authoring/lint/lint-pack.js';
import { makePack, makeRule } from './make-pack.js';

const lint = (rule: Parameters<typeof makeRule>[0], options: Partial<LintOptions> = {}): readonly string[] =>
  lintPack(makePack([makeRule(rule)]), { tags: new Set(), ...options })
    .map(({ code }) => code)
    .filter((code) => ['PACK038', 'PACK039', 'PACK067'].includes(code));

describe('gaps in a row', () => {
  it.each([
    'ab.{0,12}.{0,12}cd',
    'ab.{0,12}[^\\n]{0,12}cd',
    'ab[^.]{0,12}(?:xy)?[^.]{0,12}cd',
    'ab.{0,12}\\b.{0,12}cd',
    'ab.{0,12} .{0,12}cd',
    'ab(?:.{0,12}){1,3}cd',
    'ab(?:.{0,12})(?:.{0,9})?cd',
    'ab.{0,12}(?:xy|.{0,12})cd',
    'ab.{0,12}(?:xy.{0,12})?cd',
    'ab(?:.{0,7} ){0,9}cd',
  ])('that are together too wide are reported: %s', (source) => {
    expect(lint({ match: { any: [source] } })).toEqual(['PACK038']);
    expect(lint({ match: { any: ['ab'] }, except: [source] })).toEqual(['PACK038']);
  });

  it.each([
    'ab.{0,12}cd',
    'ab.{0,12}xy.{0,12}cd',
    'ab.{0,6}.{0,6}cd',
    'ab(?:[a-z]+ ){0,9}cd',
    'ab(?:[^.\\x20]*\\x20){0,9}[^.\\x20]*cd',
    'ab[0-9]{0,12}.{0,12}cd',
  ])('with a literal between them or within the limit are not: %s', (source) => {
    expect(lint({ match: { any: [source] } })).toEqual([]);
  });
});

describe('an alternation', () => {
  const letters = (count: number): string => Array.from({ length: count }, (_, at) => `w${at}`).join('|');
  it.each([
    [25, []],
    [26, ['PACK039']],
  ])('of %d alternatives gives %j', (count, codes) => {
    expect(lint({ match: { any: [`ab (?:${letters(count)})`] } })).toEqual(codes);
  });
});

describe('a negative example', () => {
  const examples = (text: string): Pick<Rule, 'examples'> => ({
    examples: { positive: [], negative: [{ text, why: 'benign' }], todo_positive: [], todo_negative: [] },
  });
  const match = { any: ['waive the restocking fee'] };

  it.each([
    ['Nobody may waive the restocking fee.', []],
    ['The waiting room is on the left.', ['PACK067']],
  ])('%j gives %j', (text, codes) => {
    expect(lint({ match, ...examples(text) })).toEqual(codes);
  });

  it('is judged alike by the patterns of a bundle, and by no exception', () => {
    const rule = makeRule({ match, except: ['waiting room'], ...examples('The waiting room is on the left.') });
    const pack = makePack([rule]);
    const prepared = preparePatterns(
      [rule],
      createWordLookup({}, () => {}),
      () => {},
    );
    for (const layers of [pack.layers, pack.layers.map((layer) => ({ ...layer, prepared }))]) {
      const codes = lintPack({ ...pack, layers }, { tags: new Set() }).map(({ code }) => code);
      expect(codes).toContain('PACK067');
    }
  });

  it('is not judged where a pattern requires no literal', () => {
    expect(lint({ match: { any: ['[a-z]+ [0-9]+'] }, ...examples('The waiting room.') })).toEqual([]);
  });
});

describe('suppressions', () => {
  const rule = { id: 'sale.fee', match: { any: ['ab.{0,12}.{0,12}cd', 'cd.{0,12}.{0,12}ab'] } };

  it('hide as many problems as they count, and none when there are more', () => {
    expect(lint(rule, { suppressions: { 'sale.fee': { PACK038: { count: 2, reason: 'tried' } } } })).toEqual([]);
    expect(lint(rule, { suppressions: { 'sale.fee': { PACK038: { count: 1, reason: 'tried' } } } })).toEqual([
      'PACK038',
      'PACK038',
    ]);
    expect(lint(rule, { suppressions: { 'sale.other': { PACK038: { count: 2, reason: 'tried' } } } })).toEqual([
      'PACK038',
      'PACK038',
    ]);
  });
});

it('rules show prints the evidence of a core rule', () => {
  const parts: string[] = [];
  const io = { out: (part: string) => void parts.push(part), paint: paintFor({ isTTY: false }), today: '2026-06-01' };
  showRule('leak.system-prompt', {}, io);
  expect(parts.join('')).toMatch(/# evidence: matches \d+ of \d+ attacks and \d+ of \d+ benign texts \(.*rules \d/);
}, 240_000);
