import { describe, expect, test } from 'vitest';
import { findCodeRows } from '../../src/engine/text/decode/code-rows.js';
import { buildViews } from '../../src/engine/text/views.js';
import { HOSTILE, repeat } from './hostile.js';

/** How many code units `buildViews` looks at, one by one or as the text of a view. */
function countSteps(text: string): number {
  const { charCodeAt } = String.prototype;
  let steps = 0;
  const counted = function (this: string, at: number): number {
    steps += 1;
    return charCodeAt.call(this, at);
  };
  try {
    Object.assign(String.prototype, { charCodeAt: counted });
    for (const view of buildViews(text).views) steps += view.text.length;
  } finally {
    Object.assign(String.prototype, { charCodeAt });
  }
  return steps;
}

test('the count counts', () => {
  expect(countSteps('A plain sentence.')).toBeGreaterThan(2 * 17);
});

describe('growth', () => {
  const texts = [
    ...HOSTILE,
    'A plain sentence of no account, with the odd word, 12 or 13, and a full stop. ',
    '<div class="c"><p style="color:#333">Some <b>words</b> &amp; more <a href="/x?a=1" title="a title">here</a></p></div>\n',
    `A plain sentence. ${btoa('And a sentence in base64, with more words than one.')} `,
    'const total = sum(values, 12, 0x1f); // "\\n" + a.b.c\n',
  ];
  test.each(texts.map((piece) => [piece]))('%j: four times the text, about four times the steps', (piece) => {
    const [short, long] = [countSteps(repeat(piece, 3_000)), countSteps(repeat(piece, 12_000))];
    expect(long / short).toBeLessThan(4.6);
  });

  test.each(['69 ', '69', '6', ' ', '69  ', '69    ', 'x'])('rows of codes: %j', (piece) => {
    const text = repeat(piece, 10_000);
    let asked = 0;
    findCodeRows(text, [0, text.length], {
      codeEnd(source, at) {
        asked += 1;
        return source.startsWith('69', at) ? at + 2 : 0;
      },
      beginsAfter: () => true,
      separators: ' ',
      maxGap: 3,
      minCodes: 6,
    });
    expect(asked).toBeLessThanOrEqual(2 * text.length);
  });
});
