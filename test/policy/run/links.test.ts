import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linksIn } from '../../../src/policy/run/output/links.js';
import { cpuGrowth } from '../../cpu-growth.js';

const E = 'https://evil.example/a';
/** Each link as `image` or `link`, with `plain` where it is shown as text, its address, and what of the text would be cut. */
const found = (text: string): readonly string[] => [
  ...new Set(
    linksIn(text).map(({ start, end, isLoaded, isPlain, url }) => {
      const kind = `${isPlain ? 'plain ' : ''}${isLoaded ? 'image' : 'link'}`;
      return `${kind} ${url.href} <- ${text.slice(start, end)}`;
    }),
  ),
];

describe('links', () => {
  const rows: readonly (readonly [string, string, readonly string[]])[] = [
    ['a link', `[x](${E})`, [`link ${E} <- ${E}`]],
    ['a relative link', '[x](../a.md) ![y](/b.png) [z](#c)', []],
    ['an image', `![x](${E} "t")`, [`image ${E} <- ${E}`]],
    ['an escaped image', `!\\[x](//evil.example/a)`, [`link ${E} <- //evil.example/a`]],
    ['a link with parentheses', `[x](${E}_(b))`, [`link ${E}_(b) <- ${E}_(b)`]],
    ['a definition of an image', `![x][R]\n\n[r]: //evil.example/a`, [`image ${E} <- //evil.example/a`]],
    ['a definition of a link', `[x][r]\n\n[r]: //evil.example/a`, [`link ${E} <- //evil.example/a`]],
    ['escapes', '[x](https\\://evil.example/a)', [`link ${E} <- https\\://evil.example/a`]],
    ['a bare address at the end', `See (${E}).`, [`link ${E} <- ${E}`]],
    ['quotes around an address', `'${E}' "${E}" \`${E}\``, [`link ${E} <- ${E}`, `plain link ${E} <- ${E}`]],
    ['quotes within an address', `${E}'b`, [`link ${E}'b <- ${E}'b`]],
    ['JSON', `{"u":"${E}","v":1}`, [`link ${E} <- ${E}`]],
    ['a domain with a path', 'see evil.example/a now', [`plain link ${E} <- evil.example/a`]],
    ['a file', 'see src/a.ts and a.md, at 3:4//5', []],
    ['a code span', `\`${E}\``, [`plain link ${E} <- ${E}`]],
    ['a code block', `\`\`\`sh\ncurl ${E}\n\`\`\``, [`plain link ${E} <- ${E}`]],
    ['a code block that is open', `\`\`\`sh\ncurl ${E}`, [`link ${E} <- ${E}`]],
    ['attributes', `<img src=${E}>`, [`image ${E} <- ${E}`]],
    ['an anchor', `<a href='//evil.example/a'>x</a>`, [`link ${E} <- //evil.example/a`]],
    [
      'white space in a scheme',
      `<img src="ht\ntps://evil.example/a">`,
      [`image ${E} <- ht\ntps://evil.example/a`, 'link tps://evil.example/a <- tps://evil.example/a'],
    ],
    ['numbers as hosts', '![x](http://3405803783/a)', ['image http://203.0.113.7/a <- http://3405803783/a']],
    [
      'a picture in a data URL',
      '![x](data:image/png;base64,iVBORw0KGgo=)',
      ['image data:image/png;base64,iVBORw0KGgo= <- data:image/png;base64,iVBORw0KGgo='],
    ],
  ];
  it.each(rows)('%s', (_, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('reads markup in a data URL', () => {
    const page = Buffer.from('<img src=//evil.example/a>').toString('base64');
    const hosts = linksIn(`<iframe src="data:text/html;base64,${page}">`).map(
      ({ host, isLoaded }) => `${host} ${isLoaded}`,
    );
    expect(hosts).toContain('evil.example true');
  });

  it('gives spans of the text, on any text', () => {
    const part = fc.constantFrom(
      '[',
      ']',
      '](',
      '![',
      ']:',
      '(',
      ')',
      '<',
      '>',
      '`',
      '\n',
      ' ',
      '\\',
      '"',
      "'",
      '//',
      E,
      '<img src=',
      'a.b/c',
      '&#58;',
      '%41',
      'data:',
      '\ud83d',
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 30 }).map((parts) => parts.join('')),
        (text) => {
          for (const { start, end } of linksIn(text)) {
            expect(start).toBeGreaterThanOrEqual(0);
            expect(end).toBeLessThanOrEqual(text.length);
            expect(start).toBeLessThan(end);
          }
        },
      ),
    );
    expect.hasAssertions();
  });

  it.each([
    '[',
    ']',
    '](',
    '](a)',
    ']:a',
    '![',
    '<a ',
    '<a href=',
    '<img src="//e.x/a">',
    '`',
    '``\n',
    '\\',
    '//',
    'https://',
    `${E} `,
    E,
    'a.',
    'www.',
    'a.b/c ',
    '(',
    '((',
    '&amp;',
    '[a](<',
    '```\n',
    '~~~\n',
    "='",
    '[[a]](b)',
    'url(',
  ])(
    'is linear on %j',
    (unit) => {
      expect(cpuGrowth(unit, 400_000, linksIn)).toBeLessThan(9);
    },
    60_000,
  );
});
