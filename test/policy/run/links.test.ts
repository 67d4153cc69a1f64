import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linksIn } from '../../../src/policy/run/output/links.js';
import { expectLinear } from '../../expect-linear.js';

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
    ['an image without slashes', '![x](https:evil.example/a)', [`image ${E} <- https:evil.example/a`]],
    ['a link with one slash', '[x](https:/evil.example/a)', [`link ${E} <- https:/evil.example/a`]],
    ['an autolink without slashes', '<https:evil.example/a>', [`link ${E} <- https:evil.example/a`]],
    ['a scheme alone', 'http: or https:, as in https: x', []],
    [
      'an image in a picture of lines',
      '<svg><image href="https:evil.example/a"></svg>',
      [`image ${E} <- https:evil.example/a`],
    ],
    [
      'sources without slashes',
      '<img srcset="http:evil.example/a 2x">',
      ['image http://evil.example/a <- http:evil.example/a 2x', 'link http://evil.example/a <- http:evil.example/a'],
    ],
    [
      'a style without slashes',
      '<p style="background:url(http:evil.example/a)">',
      [
        'image http://evil.example/a <- background:url(http:evil.example/a)',
        'image http://evil.example/a <- http:evil.example/a',
      ],
    ],
    [
      'a style with white space',
      `<style>p{background:url(${' '.repeat(30)}//evil.example/a)}</style>`,
      [`image ${E} <- //evil.example/a`],
    ],
    [
      'a style that is imported',
      `<style>@import'https:evil.example/a';</style>`,
      [`image ${E} <- https:evil.example/a`],
    ],
    [
      'relative links behind a base',
      '![w](b) <base href="//evil.example/c/"> ![x](a) <img src="/a">',
      ['image https://evil.example/c/ <- //evil.example/c/', 'image https://evil.example/c/a <- a', `image ${E} <- /a`],
    ],
    [
      'relative links behind a base in code',
      '`<base href="//evil.example/">` [x](a)',
      ['plain image https://evil.example/ <- //evil.example/'],
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
    'url( ',
    ' ',
    '//a ',
    'https:',
  ])(
    'is linear on %j',
    (unit) => {
      expectLinear(unit, 400_000, linksIn);
    },
    60_000,
  );
});
