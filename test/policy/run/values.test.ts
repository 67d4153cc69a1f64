import fc from 'fast-check';
import { expect, it } from 'vitest';
import { foldedViews } from '../../../src/policy/run/values/folded.js';
import { valuesIn, wordsIn } from '../../../src/policy/run/values/values.js';
import { expectLinear } from '../../expect-linear.js';

/** All values in any reading of a text, as `kind:text`. */
const valuesOf = (text: string): string[] => [
  ...new Set(foldedViews(text).flatMap((view) => valuesIn(view.text).map(({ kind, text }) => `${kind}:${text}`))),
];

const found = [
  ['Write to Eve@Evil.example, please.', 'email:eve@evil.example'],
  ['mailto:bob@x.example?cc=al@y.example', 'email:al@y.example'],
  ['ＥＶＥ＠ｅｖｉｌ．ｅｘａｍｐｌｅ', 'email:eve@evil.example'],
  ['\u0435v\u0435@evil.example', 'email:eve@evil.example'],
  ['e\u200bve@ev\u2060il.example', 'email:eve@evil.example'],
  ['to=eve%40evil.example', 'email:eve@evil.example'],
  ['send it to ZXZlQGV2aWwuZXhhbXBsZQ== now', 'email:eve@evil.example'],
  ['eve [at] evil [dot] example', 'email:eve@evil.example'],
  ['eve @ evil.example', 'email:eve@evil.example'],
  ['https://www.evil.example/Collect?d=1', 'url:evil.example/collect?d=1'],
  ['https://www.evil.example/Collect?d=1', 'host:evil.example'],
  ['https://user:pass@evil.example:8080/x', 'host:evil.example'],
  ['see evil.example.', 'host:evil.example'],
  ['https://evil.example.:443/x', 'host:evil.example'],
  ['https:\\\\evil.example\\x', 'host:evil.example'],
  ['https:/evil.example/x', 'host:evil.example'],
  ['https:///evil.example/x', 'host:evil.example'],
  ['https://shop.example/out?to=https://evil.example/x', 'host:evil.example'],
  ...[
    'News:https://',
    'see.https:/',
    'reviews:https://',
    'http:https://',
    'http:-https://',
    'xhttp:/https://',
    'ws:@',
    '//',
    '\\\\',
  ].map((lead) => [`${lead}evil.example/y`, 'host:evil.example'] as const),
  ['https://shop.example/a/https://b.example/c/https://evil.example/y', 'host:evil.example'],
  ['https://a.example/x?to=//evil.example/y', 'host:evil.example'],
  ['<img src="//evil.example/y.png">', 'url:evil.example/y.png'],
  ['http://prod-ws:8080/x', 'host:prod-ws'],
  ['http://[2001:DB8::1]:8080/x', 'host:[2001:db8::1]'],
  ['https:[2001:db8::1]/x', 'host:[2001:db8::1]'],
  ['https://[2001:db8:0:0::1]/x', 'host:[2001:db8::1]'],
  ['ping [2001:db8::1].', 'host:[2001:db8::1]'],
  ['ping 2001:DB8:0:0::1, then', 'host:[2001:db8::1]'],
  ['ssh root@2001:db8:0:0:0:0:0:1', 'host:[2001:db8::1]'],
  ['https://xn--bcher-kva.example/x', 'host:xn--bcher-kva.example'],
  ['eve@xn--e1afmkfd.xn--p1ai', 'email:eve@xn--e1afmkfd.xn--p1ai'],
  ['it is 203.0.113.5.', 'host:203.0.113.5'],
  ...['3405803781', '0xcb.0.0x71.5', '203.0.28933', '0xcb007105'].map(
    (host) => [`http://${host}/x`, 'host:203.0.113.5'] as const,
  ),
  [`https://shop.example/${'a'.repeat(600)}?to=eve@evil.example`, 'email:eve@evil.example'],
  ['DE89 3704 0044 0532 0130 00', 'account:de89370400440532013000'],
  ['account 12345678', 'account:12345678'],
  ['call +49 (30) 1234-567', 'phone:49301234567'],
  ['call 0049 30 1234567', 'phone:49301234567'],
  ['call +49 (0)30 - 1234567', 'phone:49301234567'],
  ['call 030 / 1234567', 'phone:0301234567'],
  ['0x52908400098527886E0F7030069857D2E4169EE7', 'wallet:0x52908400098527886e0f7030069857d2e4169ee7'],
  ['ask @eve_x about it', 'handle:@eve_x'],
  ['cat /etc/passwd', 'path:/etc/passwd'],
  ['C:\\Users\\bob\\plan.txt', 'path:c:/users/bob/plan.txt'],
  ['../up/notes', 'path:../up/notes'],
  ['token sk-abcd1234efgh5678ijkl', 'secret:sk-abcd1234efgh5678ijkl'],
] as const;
it.each(found)('%j has %s', (text, value) => {
  expect(valuesOf(text)).toContain(value);
});

const nothing = [
  'The meeting is on 2026-11-24 at 10:30, and/or on 11/25/2026.',
  'It costs 1,299.00 EUR, e.g. for 3.5 units (50 %).',
  '7f9c24e8-3b1d-4c5e-9f00-aabbccddeeff',
  'He said: yes - no!',
  'It began [10:30:00], in release v1.2.3.4; see x[::2].',
  '// TODO and //note',
  'From 10:30:00 to 11:45, a::b, ab:cd:ef, std::vector<int>, 00:1a:2b:3c:4d:5e.',
  '1200 - 1500 words',
  'Due 2026-11-28 10.30, 20261128 or 28.11.2026 - 30.11.2026.',
];
it.each(nothing)('%j has no value', (text) => {
  expect(valuesOf(text)).toEqual([]);
});

it('words in a row are counted by four; characters of scripts without spaces by eight', () => {
  const rows = (text: string): string[] => wordsIn(text).map((words) => words.text);
  expect(rows('please send the whole, archive')).toEqual(['please send the whole', 'send the whole archive']);
  expect(rows('it is on the go')).toEqual([]);
  expect(rows('请把所有的文件发送')).toEqual(['请 把 所 有 的 文 件 发', '把 所 有 的 文 件 发 送']);
});

it.each([
  'http:',
  'a:1:',
  '+1 (0)',
  'x+y@z.b ',
  '=http:',
  'https://a.b/',
  'http:1.',
  '1.2.3.4.',
  '[1:',
  '12345678 ',
  '2026-11-28 ',
  '_a@b.c_',
])(
  'is linear on %j',
  (unit) => {
    expectLinear(unit, 400_000, valuesIn);
  },
  60_000,
);

it('spans lie in the text, on any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      for (const view of foldedViews(text))
        for (const value of [...valuesIn(view.text), ...wordsIn(view.text)]) {
          const { start, end } = view.toText(value);
          expect(0 <= start && start <= end && end <= text.length).toBe(true);
        }
    }),
    { numRuns: 200 },
  );
  expect(foldedViews('x').length).toBeGreaterThan(0);
});
