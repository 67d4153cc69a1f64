import { describe, expect, test } from 'vitest';
import { markedText, paintFor, progressCounter } from '../../src/cli/terminal.js';
import { mergeSpans } from '../../src/engine/span.js';

const paint = paintFor({ isTTY: false });
const marked = (text: string, spans: readonly { start: number; end: number }[], around = 5): string =>
  markedText(text, spans, { paint, around });

describe('markedText', () => {
  test.each([
    ['no span', 'hello', [], 'hello'],
    ['one span', 'do it now', [{ start: 3, end: 5 }], 'do >>it<< now'],
    [
      'overlapping spans',
      'abcdef',
      [
        { start: 1, end: 3 },
        { start: 2, end: 5 },
      ],
      'a>>bcde<<f',
    ],
    ['a terminal escape', 'a\u001b[31mb', [], 'a\\u{001b}[31mb'],
    ['invisible tags', 'a\u{e0041}b', [{ start: 1, end: 3 }], 'a>>\\u{e0041}<<b'],
    ['a lone surrogate', 'a\ud800b', [], 'a\\u{d800}b'],
    ['bidi controls', '\u202eabc', [], '\\u{202e}abc'],
    ['line ends stay', 'a\nb\tc', [], 'a\nb\tc'],
  ])('%s', (_name, text, spans, expected) => {
    expect(marked(text, spans)).toBe(expected);
  });

  test('shortens what lies far from the marks', () => {
    const text = `${'a'.repeat(100)}HIT${'b'.repeat(100)}`;
    expect(marked(text, [{ start: 100, end: 103 }])).toBe(
      '[... 95 characters ...]aaaaa>>HIT<<bbbbb[... 95 characters ...]',
    );
  });

  test('never cuts a surrogate pair', () => {
    const text = `${'😀'.repeat(100)}HIT${'😀'.repeat(100)}`;
    expect(marked(text, [{ start: 200, end: 203 }])).not.toMatch(/\\u\{d8/);
  });

  test('a terminal gets colour, NO_COLOR and pipes do not', () => {
    const span = [{ start: 0, end: 1 }];
    const shownOn = (isTTY: boolean, environment: Record<string, string>): string =>
      markedText('ab', span, { paint: paintFor({ isTTY }, environment), around: 5 });
    expect(shownOn(true, {})).toBe('\u001b[43m\u001b[30ma\u001b[39m\u001b[49mb');
    expect(shownOn(true, { NO_COLOR: '1' })).toBe('>>a<<b');
    expect(shownOn(false, {})).toBe('>>a<<b');
  });
});

test('mergeSpans joins what touches and keeps what does not', () => {
  const spans = [
    { start: 6, end: 8 },
    { start: 0, end: 2 },
    { start: 2, end: 4 },
  ];
  expect(mergeSpans(spans)).toEqual([
    { start: 0, end: 4 },
    { start: 6, end: 8 },
  ]);
});

describe('progress of long work', () => {
  const written = (isTTY: boolean) => {
    const lines: string[] = [];
    const stream = { isTTY, columns: 100, write: (text: string) => lines.push(text) };
    let now = 0;
    const counter = progressCounter(stream as unknown as Parameters<typeof progressCounter>[0], () => now);
    return { lines, counter, wait: (ms: number) => (now += ms) };
  };

  test('says how much is done, the rate, and the time left', () => {
    const { lines, counter, wait } = written(true);
    counter.update('texts', 0, 1_000);
    wait(2_000);
    counter.update('texts', 200, 1_000);
    wait(2_000);
    counter.update('texts, model', 0, 1_000);
    wait(200_000);
    counter.update('texts, model', 100, 1_000);
    expect(lines.map((line) => line.replace('\r\u001b[2K', ''))).toEqual([
      'texts: 0 of 1000',
      'texts: 200 of 1000, 100 a second, 8 s left',
      'texts, model: 0 of 1000',
      'texts, model: 100 of 1000, 0.5 a second, 30 min left',
    ]);
  });

  test('nothing of it goes into a pipe', () => {
    const { lines, counter, wait } = written(false);
    counter.update('texts', 0, 10);
    wait(5_000);
    counter.update('texts', 5, 10);
    counter.clear();
    expect(lines).toEqual([]);
  });
});
