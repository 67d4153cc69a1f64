import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadPack } from '../../src/adapters/packs/load-pack.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import type { Rule, RulesSignal } from '../../src/engine/rules/types.js';
import { buildViews } from '../../src/engine/text/views.js';
import { compile, makeRule, scan } from './make-pack.js';

const ALL = { paranoia: 3, exhaustive: true } as const;

/** Parts of patterns, from plain words to what no literal is sure of. */
const piece = fc.constantFrom(
  'ab',
  'b',
  'a b',
  'ba ?',
  '(?:ab|ba)',
  '(?:a )?',
  '(?:b |ab ){0,3}',
  '\\b',
  '\\w+',
  '[ab]',
  '[^a]',
  'a{2,3}',
  'b[ab7]{2,4}',
  '["!]b',
  '(?:ab \\w+|b{2,} a)',
  '(?:ab)+',
  '[a-c]+',
  '.',
  '!\\[',
  ': ',
  'й',
  '(?:йй|ab) ',
  'я',
  '字',
  '{{wb}}я',
  'a{{we}}',
  '\\d',
  '(?:a|字) b',
  ',? ',
);
const pattern = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(''))
  .filter((source) => {
    try {
      compile([makeRule({ match: { any: [source] } })]);
      return true;
    } catch {
      return false;
    }
  });
const step = fc.array(pattern, { minLength: 1, maxLength: 2 });
const steps = fc.array(step, { minLength: 2, maxLength: 3 });
const match = fc.oneof(
  step.map((any) => ({ any })),
  fc.record({ sequence: steps, gap: fc.nat(30), stop: fc.constantFrom('sentence' as const, 'none' as const) }),
  fc.record({ all: steps, within: fc.integer({ min: 1, max: 60 }) }),
);
const rules = fc.array(fc.record({ match, except: fc.array(pattern, { maxLength: 1 }) }), {
  minLength: 1,
  maxLength: 4,
});
const word = fc.constantFrom(
  'ab',
  'ba',
  'a',
  'b',
  'aab',
  'x',
  '!',
  '![',
  '"',
  'bb7',
  ':',
  '.',
  '. ',
  '\n',
  ' ',
  '  ',
  '_',
  '**',
  'й',
  'ЙЙ',
  'я',
  '字',
  'é',
  '7',
  '\u200b',
  'Ab',
  'x'.repeat(40),
  ' '.repeat(40),
  '\u{1f600}',
);
const text = fc.array(word, { maxLength: 60 }).map((words) => words.join(''));

/** Texts of the regression sets and the bench, spread over all of them. */
function sampleTexts(count: number): readonly string[] {
  const regression = join('test', 'regression');
  const attacks = readLines(join(regression, 'attacks.jsonl')).map(readText);
  const bench = ['attacks.txt', 'benign.txt'].flatMap((name) => readLines(join('bench', 'texts', name)));
  const benign = readdirSync(join(regression, 'benign'))
    .sort()
    .flatMap((name) => readLines(join(regression, 'benign', name)).map(readText));
  const rest = count - attacks.length - bench.length;
  const step = benign.length / rest;
  return [...attacks, ...bench, ...Array.from({ length: rest }, (_, at) => benign[Math.floor(at * step)] as string)];
}

const readLines = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').filter(Boolean);
const readText = (line: string): string => (JSON.parse(line) as { readonly text: string }).text;

describe('the fast path finds what every pattern run alone finds', () => {
  it('on random rules and texts', () => {
    fc.assert(
      fc.property(rules, fc.array(text, { minLength: 1, maxLength: 4 }), (given, texts) => {
        const made: readonly Rule[] = given.map((part, at) => makeRule({ id: `test.r${at}`, ...part }));
        const fast = compile(made);
        const plain = compile(made, {}, { plain: true });
        for (const one of texts) expect(scan(fast, one, ALL)).toEqual(scan(plain, one, ALL));
      }),
      { numRuns: 150 },
    );
  }, 120_000);

  it.each([
    ['close steps', ['quartz', 'violet', 'zephyr'], 60],
    ['steps far apart', ['quartz', 'violet', 'zephyr'], 300],
    ['a first step without end', ['quartz \\w+', 'violet', 'zephyr'], 60],
    ['a last step without end', ['quartz', 'violet', 'zephyr\\w*'], 60],
    ['the rarest step in the middle', ['ab \\w+', 'zephyrs of violet', 'ba'], 300],
    ['the rarest step last', ['ab', 'ba \\w+', 'zephyrs of violet'], 300],
  ] as const)('wherever the cut of a long text falls: %s', (_, [first, second, third], gap) => {
    const match = { sequence: [[first], [second], [third]], gap };
    const [fast, plain] = [compile([makeRule({ match })]), compile([makeRule({ match })], {}, { plain: true })];
    const filler = 'so x '.repeat(800);
    const parts = [first, second, third].map((source) => source.replace(/\\w[+*]/, 'thing'));
    for (const apart of [gap - 55, Math.floor(gap / 4), 0].filter((length) => length >= 0)) {
      const hit = parts.join(` ${filler.slice(0, apart)} `);
      for (let from = 2060 - hit.length; from < 2060; from += 3) {
        const long = `${filler.slice(0, from)} ${hit} ${filler}`;
        expect(scan(fast, long, ALL), `${apart} apart from ${from}`).toEqual(scan(plain, long, ALL));
        expect(scan(fast, long, ALL).findings, `${apart} apart from ${from}`).toHaveLength(1);
      }
    }
  });

  describe('on the core pack', () => {
    const { pack } = loadPack({ today: '2026-01-01' });
    const fast = compilePack(pack);
    const plain = compilePack(pack, { plain: true });
    const expectSame = (one: string): RulesSignal => {
      const { views } = buildViews(one);
      const found = fast.scan(views, ALL);
      expect(found).toEqual(plain.scan(views, ALL));
      return found;
    };
    const parts = pack.layers
      .flatMap((layer) => layer.rules)
      .flatMap((rule) => [...rule.examples.positive, ...rule.examples.negative].map((example) => example.text));
    const cut = fc
      .tuple(fc.constantFrom(...parts), fc.nat(20), fc.constantFrom(' ', '\n', '. ', ''))
      .map(([part, from, end]) => part.slice(from) + end);

    it('and texts of attacks and of ordinary use', () => {
      const texts = sampleTexts(400);
      const fired = texts.filter((one) => expectSame(one).findings.length > 0);
      expect(texts.length).toBe(400);
      // A comparison in which no rule fires, or every rule, would prove little.
      expect(fired.length).toBeGreaterThan(40);
      expect(fired.length).toBeLessThan(360);
    }, 120_000);

    it('and short texts made of its examples', () => {
      const short = fc.array(cut, { minLength: 1, maxLength: 4 }).map((list) => list.join(''));
      fc.assert(
        fc.property(short, (one) => void expectSame(one)),
        { numRuns: 300 },
      );
    }, 120_000);

    it('and texts whose words its examples share, in any order', () => {
      const words = [...new Set(parts.flatMap((part) => part.split(/\s+/)))];
      const shuffled = fc
        .array(fc.constantFrom(...words), { minLength: 1, maxLength: 60 })
        .map((list) => list.join(' '));
      fc.assert(
        fc.property(shuffled, (one) => void expectSame(one)),
        { numRuns: 100 },
      );
    }, 120_000);

    it('and long texts made of its examples', () => {
      const long = fc.array(cut, { minLength: 1, maxLength: 90 }).map((list) => list.join(''));
      fc.assert(
        fc.property(long, (one) => void expectSame(one)),
        { numRuns: 8 },
      );
    }, 120_000);
  });
});
