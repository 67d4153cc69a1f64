import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Span } from '../../src/index.js';
import { cutSpans } from '../../src/policy/redact.js';
import { expectLinear } from '../expect-linear.js';

/** Where `{"a":"` ends. */
const HEAD = 6;

const cut = (text: string, ...spans: readonly (readonly [number, number])[]): string | undefined =>
  cutSpans(
    { a: text },
    spans.map(([start, end]) => ({ start: HEAD + start, end: HEAD + end })),
  )?.a;

it.each([
  ['plain', 'one two three', [[4, 7]], 'one [removed] three'],
  ['an escaped quote before it', 'a "b" c', [[8, 9]], 'a "b" [removed]'],
  ['half of an escape', 'a\nb', [[2, 3]], 'a[removed]b'],
  ['half of a pair', 'a😀b', [[1, 2]], 'a[removed]b'],
  ['a lone surrogate takes six', 'a\ud800b', [[7, 8]], 'a\ud800[removed]'],
  ['a control character takes six', 'a\u0001b', [[7, 8]], 'a\u0001[removed]'],
  [
    'several',
    'one two three',
    [
      [0, 3],
      [8, 13],
    ],
    '[removed] two [removed]',
  ],
] as const)('cuts spans of the JSON text out of a string in it: %s', (_, text, spans, expected) => {
  expect(cut(text, ...spans)).toBe(expected);
});

it('removes every code point that a span touches, and no other', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 1, max: 20 })), { minLength: 1, maxLength: 5 }),
      (text, places) => {
        const length = JSON.stringify(text).length - 2;
        const spans = places.map(
          ([at, size]): Span => ({ start: at % length, end: Math.min(length, (at % length) + size) }),
        );
        let at = 0;
        let kept = '';
        for (const point of text) {
          const end = at + JSON.stringify(point).length - 2;
          if (!spans.some((span) => span.start < end && span.end > at)) kept += point;
          at = end;
        }
        const cutText = cut(text, ...spans.map(({ start, end }) => [start, end] as const)) ?? '';
        expect(cutText.replaceAll('[removed]', '')).toBe(kept);
      },
    ),
  );
});

it('takes time in proportion to the text, however many spans there are', () => {
  const unit = 'some words that stay, then bad ones. ';
  const work = (text: string): void => {
    const spans: Span[] = [];
    for (let at = HEAD; at + 10 < text.length; at += 100) spans.push({ start: at, end: at + 5 });
    cutSpans({ a: text }, spans);
  };
  expectLinear(unit, 80_000, work);
});
