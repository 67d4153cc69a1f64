import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { compileSource, createPattern, type Pattern } from '../../src/engine/rules/matcher/pattern.js';
import { ProgramWriter, toUnits } from '../../src/engine/rules/matcher/programs.js';
import { measurePattern } from '../../src/engine/rules/pattern/measure-pattern.js';
import { parsePattern } from '../../src/engine/rules/pattern/parse-pattern.js';
import type { Span } from '../../src/engine/span.js';

/** Compiled alone, or behind others that it shares choices with. */
function compile(source: string, writer = new ProgramWriter()): Pattern {
  const address = compileSource(source, writer);
  return createPattern(writer, () => address);
}

const everywhere: Span = { start: 0, end: Number.POSITIVE_INFINITY };
const find = (source: string, text: string): readonly Span[] => compile(source).findAll(toUnits(text), everywhere);

/** Patterns that match the empty text are refused before. */
function matchesSomething(source: string): boolean {
  const parsed = parsePattern(source, () => {
    throw new Error('no word lists here');
  });
  return parsed.ok && measurePattern(parsed.node).shortest > 0;
}

/** What RE2 finds, by its port to JavaScript. */
function findByRe2(source: string, text: string): readonly Span[] {
  const spans: Span[] = [];
  const matcher = RE2JS.compile(source).matcher(text);
  while (matcher.find()) spans.push({ start: matcher.start(), end: matcher.end() });
  return spans;
}

const LETTERS = ['a', 'b', 'c', 'ab', 'ca', ' ', '-', 'é', 'ж', '𐀀', '\n', '1'];
const letter = fc.constantFrom(...LETTERS);
const charClass = fc.constantFrom(
  '.',
  '[ab]',
  '[^a]',
  '\\w',
  '\\W',
  '\\d',
  '\\s',
  '[a-c1]',
  '\\pL',
  '\\PL',
  '[^\\w]',
  '[[:alpha:]]',
  '[^\\n]',
  '(?s:.)',
  '[é-ж]',
  '\\p{Greek}',
);
const edge = fc.constantFrom('\\b', '\\B', '^', '$', '(?m:^)', '(?m:$)', '\\A', '\\z');
const quantifier = fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{0,2}?', '{2,}', '{1,4}');
const literal = letter.map((text) => (text === '-' ? '\\-' : text));
const { source: sources } = fc.letrec<{ source: string; sequence: string; part: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('sequence'),
    fc.array(tie('sequence'), { minLength: 2, maxLength: 7 }).map((options) => `(?:${options.join('|')})`),
  ),
  sequence: fc.array(tie('part'), { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { arbitrary: literal, weight: 6 },
    { arbitrary: charClass, weight: 2 },
    { arbitrary: edge, weight: 1 },
    {
      arbitrary: fc
        .tuple(
          fc.oneof(
            literal.filter((text) => [...text].length === 1),
            charClass,
          ),
          quantifier,
        )
        .map((both) => both.join('')),
      weight: 3,
    },
    { arbitrary: fc.tuple(tie('source'), quantifier).map(([of, times]) => `(?:${of})${times}`), weight: 2 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('i', 's', 'm', 'i-s'), tie('source'))
        .map(([flags, of]) => `(?${flags}:${of})`),
      weight: 1,
    },
    { arbitrary: tie('source').map((of) => `(?:${of})`), weight: 1 },
  ),
}));
const texts = fc
  .array(fc.oneof(letter, fc.constantFrom('A', 'É', 'abab', 'aaaa')), { maxLength: 24 })
  .map((parts) => parts.join(''));

describe('the matcher', () => {
  it('finds what RE2 finds', () => {
    fc.assert(
      fc.property(sources.filter(matchesSomething), texts, (source, text) => {
        expect(find(source, text)).toEqual(findByRe2(source, text));
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  it('finds the same with choices that other patterns wrote', () => {
    const words = fc.uniqueArray(fc.stringMatching(/^[ab]{1,3}$/), { minLength: 4, maxLength: 9 });
    fc.assert(
      fc.property(words, texts, (list, text) => {
        const choice = `(?:${list.join('|')})`;
        const writer = new ProgramWriter();
        for (const source of [`${choice} ${choice}`, `c${choice}`, `${choice}{2}\\b`])
          expect(compile(source, writer).findAll(toUnits(text), everywhere), source).toEqual(findByRe2(source, text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a+', 'baab a', 'ab'],
    ['\\bignore\\b', 'ignore, Ignore. ignored', ' '],
    ['(?:ignore|forget) (?:all|every)', 'forget all, ignore every', 'forget'],
    ['\\p{Han}{2}', 'ab 忽略 指令 😀忽略', '😀'],
    ['[^a-z]+', '😀😀a\u{10ffff}', 'a'],
    ['(?i)straße|k', 'STRASSE Straße \u212a', 'k'],
    ['(?:ж|\u{1f600})\u{1f600}', '\u{1f600}\u{1f600} ж\u{1f600}', '\u{1f600}'],
    ['^a|b$', 'a\nb\nab', 'a'],
    ['a{2}b?', 'aaab', 'a'],
  ])('finds %s', (source, text, other) => {
    for (const one of [text, other]) expect(find(source, one)).toEqual(findByRe2(source, one));
  });

  it('finds only the matches that begin in a range', () => {
    const text = toUnits('ab ab ab');
    const pattern = compile('ab');
    expect(pattern.findAll(text, { start: 3, end: 3 })).toEqual([{ start: 3, end: 5 }]);
    expect(pattern.findAll(text, { start: 1, end: 2 })).toEqual([]);
    expect(pattern.findAll(text, { start: -9, end: 0 })).toEqual([{ start: 0, end: 2 }]);
    expect(pattern.beginsIn(text, { start: 4, end: 6 })).toBe(true);
    expect(pattern.beginsIn(text, { start: 7, end: 99 })).toBe(false);
  });

  it('sees what stands around the range', () => {
    expect(compile('\\bb').findAll(toUnits('ab b'), { start: 1, end: 9 })).toEqual([{ start: 3, end: 4 }]);
    expect(compile('^b').findAll(toUnits('ab'), { start: 1, end: 1 })).toEqual([]);
  });

  it.each([
    '(?:a*)*b',
    '(?:a|aa)+b',
    '(?:a+){2,}b',
    '(?:a?){12}b',
    '(?:\\w+ ?)+:',
    '(?:a|b|ab)*c',
    '(?:(?:a|aa){1,12} ?){1,12}x',
    '(?:(?:\\w|[a-z]|.|[a-m]){12}#|xx|yy|zz)',
    '(?:(?:a|aa|aaa|aaaa){12}b|xx|yy|zz)',
    '(?:(?:|a|aa|ab){12}#|xx|yy|zz)',
  ])(
    'takes time linear in the text: %s',
    (source) => {
      const pattern = compile(source);
      // Backtracking that remembers nothing would take longer than the universe is old.
      for (const text of ['a'.repeat(20_000), 'ad'.repeat(10_000)])
        expect(pattern.findAll(toUnits(text), everywhere)).toEqual([]);
    },
    20_000,
  );

  it('finds matches behind a text that used up its steps', () => {
    const text = `${'a'.repeat(5_000)} aab`;
    expect(find('(?:a|aa)+b', text)).toEqual([{ start: 5_001, end: 5_004 }]);
  });

  it('finds matches in a long text for which it cannot remember every place', () => {
    // 400 marks at 210,000 places would take 11 MB.
    const source = `(?:${Array.from({ length: 100 }, (_, n) => `(?:a|aa)+${n}`).join('|')}) b`;
    const text = `${'a'.repeat(60)} `.repeat(3_500);
    expect(find(source, `${text}aaa7 b`)).toEqual([{ start: text.length, end: text.length + 6 }]);
  }, 20_000);

  it('takes no time for a character that is in none of many ranges, whatever their case', () => {
    const letters = Array.from({ length: 280 }, (_, n) => String.fromCodePoint(0x10400 + n)).join('');
    const text = toUnits('\u{1f600}'.repeat(50_000));
    for (const flags of ['(?i)', ''])
      expect(compile(`${flags}[^${letters}]{1,12}x`).findAll(text, everywhere)).toEqual([]);
  }, 5_000);

  it.each([
    [
      'letters of any case',
      `(?i)(?:${Array.from({ length: 1_000 }, (_, n) => String.fromCodePoint(0x10c0 + n)).join('|')})x`,
      'é'.repeat(100),
    ],
    ['choices left open', `#(?:${'a??'.repeat(90)}b)+x`, `#${'b'.repeat(100_000)}`],
    ['calls', `#(?:${'(?:|a|c|d)'.repeat(28)}b)+x`, `#${'b'.repeat(100_000)}`],
  ])(
    'bounds its memory: %s',
    (_, source, text) => {
      const units = toUnits(text);
      const before = process.memoryUsage().arrayBuffers;
      expect(compile(source).findAll(units, everywhere)).toEqual([]);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000);
    },
    20_000,
  );

  it('writes nothing for what is repeated no times, however often', () => {
    expect(find('a(?:(?:(?:(?:(?:b{0}){64}){64}){64}){64}){64}c', 'ac')).toEqual([{ start: 0, end: 2 }]);
  });

  it('finds the members of classes', () => {
    const point = fc.constantFrom(
      'a',
      'k',
      's',
      'z',
      'A',
      'K',
      '0',
      'é',
      'ж',
      'Ж',
      'ſ',
      '\u212a',
      '\uffff',
      '\u{10400}',
      '\u{10428}',
      '\u{10ffff}',
    );
    const item = fc.oneof(
      fc.tuple(point, point).map((ends) => {
        const [low = '', high = ''] = [...ends].sort(
          (a, b) => (a.codePointAt(0) as number) - (b.codePointAt(0) as number),
        );
        return `${low}-${high}`;
      }),
      point,
      fc.constantFrom('\\d', '\\D', '\\W', '\\pL', '\\PL', '\\p{Cyrillic}', '[:^alpha:]', '[:punct:]'),
    );
    const members = fc.array(item, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(members, fc.constantFrom('', '(?i)'), fc.constantFrom('', '^'), (items, flags, caret) => {
        const source = `${flags}[${caret}${items.join('')}]`;
        const text = 'akszAKS0éÉжЖſ\u212a\uffff\u{10400}\u{10428}\u{10ffff}-!一';
        expect(find(source, text), source).toEqual(findByRe2(source, text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['\\p{Klingon}', /`\\p\{Klingon\}` names no script or category of Unicode/],
    ['(?:(?:(?:(?:ab?){12}c?){12}d?){12}e?){12}', /too large/],
    [`(?:${Array.from({ length: 20_000 }, (_, n) => `w${n}`).join('|')})`, /too large/],
  ])('refuses %.30s', (source, problem) => {
    expect(() => compile(source)).toThrow(problem);
  });

  it('goes on after a pattern that it refused', () => {
    const writer = new ProgramWriter();
    const [before] = [compile('(?:one|two|three|four) x', writer)];
    expect(() => compile('(?:(?:(?:(?:ab?){12}c?){12}d?){12}e?){12}', writer)).toThrow(/too large/);
    const after = compile('(?:one|two|three|four) y', writer);
    expect(before?.findAll(toUnits('two x two y'), everywhere)).toEqual([{ start: 0, end: 5 }]);
    expect(after.findAll(toUnits('two x two y'), everywhere)).toEqual([{ start: 6, end: 11 }]);
  });

  it('gives up after so many steps a character where it is told to', () => {
    const source = `(?:(?:${'\\w ?|'.repeat(48)}q){1,12})+#`;
    const text = toUnits(`${'ordinary words '.repeat(40)}! some words#`);
    const writer = new ProgramWriter();
    const address = compileSource(source, writer);
    const [patient, impatient] = [1_000_000, 16].map((steps) => createPattern(writer, () => address, steps));
    expect(impatient?.findAll(text, everywhere)).toEqual([]);
    expect(patient?.findAll(text, everywhere)).toEqual([{ start: 602, end: 613 }]);
    expect(impatient?.findAll(toUnits('some words#'), everywhere)).toEqual([{ start: 0, end: 11 }]);
  });
});
