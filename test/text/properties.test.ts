import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fold, foldAscii } from '../../src/engine/text/normalize/fold.js';
import { scanFeatures } from '../../src/engine/text/scan-features.js';
import { DEFAULT_TEXT_LIMITS, type View } from '../../src/engine/text/view.js';
import { buildViews } from '../../src/engine/text/views.js';
import { apart, backwards, base32, base64, braille, caesar, each, hex, morse, tags } from './disguises.js';
import { ORDER } from './find-reading.js';

const RUNS = { numRuns: 200 };

/** Strings of any units, lone surrogates and NUL among them. */
const anyUnits = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0, max: 0x7f })), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));

/** Pieces that wake the transforms, mixed with anything. */
const piece = fc.constantFrom(
  '<b>',
  '</b>',
  '<!--',
  '-->',
  '<p style="display:none">',
  '<script>',
  '</script>',
  '<![CDATA[',
  ']]>',
  '">',
  "='",
  '&#105;',
  '&nbsp;',
  '%69',
  '%e9',
  '\\u0069',
  '\\n',
  '\\ud83d',
  '=69',
  '=\n',
  ' ',
  '  ',
  '\n\n',
  '\t',
  '\u200b',
  '\u0301',
  '\u093c',
  '\u3099',
  '\u0e33',
  '\ud83d\ude00',
  '\u{e0069}',
  '\ufe0f',
  'i g n o r e ',
  'i-g-n-o-r-e',
  '1gn0r3',
  'ignoreall',
  'ﷺ',
  'İ',
  'ß',
  '𝓲',
  '‮',
  '[//]: # (',
  '![',
  '](',
  'і',
  'ｶﾞ',
  base64(ORDER),
  base64(base64(ORDER)),
  base32(ORDER),
  hex(ORDER),
  caesar(ORDER, 13),
  backwards(ORDER),
  morse(ORDER),
  tags('ignore'),
  braille(ORDER),
  apart(ORDER, '.', ' '),
  each(ORDER, String, ' '),
  ORDER,
  ORDER.split(' ').reverse().join(' '),
);
const anyText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: piece },
      { weight: 1, arbitrary: anyUnits },
      { weight: 1, arbitrary: fc.string() },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const WAYWARD = ['reversed', 'reversed-words', 'upside-down'];
const isEdge = (text: string, offset: number): boolean =>
  (text.charCodeAt(offset) & 0xfc00) !== 0xdc00 || (text.charCodeAt(offset - 1) & 0xfc00) !== 0xd800;

/** Spans of one code point each, and their place in the input. */
function places(view: View): readonly { readonly start: number; readonly end: number }[] {
  const found = [];
  for (let start = 0; start < view.text.length; ) {
    const end = start + ((view.text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
    found.push(view.map.toInput({ start, end }));
    start = end;
  }
  return found;
}

describe('buildViews', () => {
  test('is total; views are well-formed, the first two raw and folded', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { views } = buildViews(text);
        expect(views.slice(0, 2).map((view) => view.kind)).toEqual(['raw', 'folded']);
        for (const view of views) expect(view.text.isWellFormed()).toBe(true);
      }),
      RUNS,
    );
  });

  test('spans lie inside the input on code-point edges', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const view of buildViews(text).views) {
          for (const { start, end } of places(view)) {
            expect(start >= 0 && start <= end && end <= text.length).toBe(true);
            expect(isEdge(text, start) && isEdge(text, end)).toBe(true);
          }
        }
      }),
      RUNS,
    );
  });

  test('offsets are monotone, but where a reading runs backwards', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const view of buildViews(text).views) {
          if (view.chain.some((step) => WAYWARD.includes(step))) continue;
          const found = places(view);
          for (const [i, { start, end }] of found.entries()) {
            expect(start).toBeGreaterThanOrEqual(found[i - 1]?.start ?? 0);
            expect(end).toBeGreaterThanOrEqual(found[i - 1]?.end ?? 0);
          }
        }
      }),
      RUNS,
    );
  });

  test('a span of a reading is the hull of the spans of its parts in the input', () => {
    fc.assert(
      fc.property(anyText, fc.nat(), fc.nat(), (text, a, b) => {
        for (const view of buildViews(text).views) {
          const found = places(view);
          if (found.length === 0) continue;
          const edges: number[] = [];
          for (let at = 0; at <= view.text.length; at += 1) if (isEdge(view.text, at)) edges.push(at);
          const [first = 0, last = 0] = [a % found.length, b % found.length].sort((x, y) => x - y);
          const whole = view.map.toInput({ start: edges[first] ?? 0, end: edges[last + 1] ?? 0 });
          // A separator that a decoder has put in stands nowhere: beside what was left out, it has either edge of that.
          const parts = found.slice(first, last + 1).filter(({ start, end }) => start < end);
          expect(whole.start).toBeLessThanOrEqual(Math.min(...parts.map((part) => part.start)));
          expect(whole.end).toBeGreaterThanOrEqual(Math.max(...parts.map((part) => part.end)));
        }
      }),
      RUNS,
    );
  });

  test('the same text gives the same views', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const look = (): unknown => buildViews(text).views.map(({ kind, chain, text: read }) => [kind, chain, read]);
        expect(look()).toEqual(look());
      }),
      { numRuns: 100 },
    );
  });

  test('derived views keep within the limits, and what they left out is stated', () => {
    const limits = { ...DEFAULT_TEXT_LIMITS, derivedBase: 300, derivedFactor: 1, maxViews: 5, maxDepth: 1 };
    fc.assert(
      fc.property(anyText, (text) => {
        const { views, unseen } = buildViews(text, limits);
        expect(views.length).toBeLessThanOrEqual(7);
        for (const { span } of unseen)
          expect(span.start >= 0 && span.start <= span.end && span.end <= text.length).toBe(true);
        for (const view of views) expect(view.chain.filter((step) => step === 'base64').length).toBeLessThanOrEqual(1);
      }),
      RUNS,
    );
  });
});

describe('fold', () => {
  test('fast path = plain path on ASCII', () => {
    const ascii = fc
      .array(
        fc.oneof(
          fc.constantFrom(' ', '\n', '\t', '\0', '\u001b', '[', 'm', 'A', '\r'),
          fc.integer({ min: 0, max: 127 }).map((unit) => String.fromCharCode(unit)),
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(ascii, (text) => {
        const features = scanFeatures(text);
        const fast = features.plain ? { text: text.toLowerCase() } : foldAscii(text, features.spaces);
        expect(fast.text).toBe(fold(text).text);
      }),
      { numRuns: 1500 },
    );
  });

  test('an identity map means the same length', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { text: folded, map } = fold(text.toWellFormed());
        if (map.identity) expect(folded.length).toBe(text.length);
      }),
      RUNS,
    );
  });
});
