/** A source of numbers that gives the same sequence for the same seed. */
export type Random = (below: number) => number;

/** A random sequence (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const tags = (text: string): string =>
  [...text].map((character) => String.fromCodePoint(0xe0000 + ((character.codePointAt(0) ?? 0) % 128))).join('');

/** Pieces that stood at the root of failures elsewhere, and the wrappers of every decoder. */
const PIECES: readonly string[] = [
  '\ud800',
  '\udc00',
  '\udbff\ud800',
  '\0',
  '\ufeff',
  '\ufffe',
  '\u2028',
  '\u202e',
  '\u200d',
  '\ufdfa',
  '\u0345',
  '\u0130',
  'ß',
  'ŉ',
  'ﬃ',
  'İ',
  'Å',
  '각',
  '\u1100\u1161\u11a8',
  '👨\u200d👩\u200d👧',
  '\u{1f1e9}\u{1f1ea}',
  '\u{e0041}\u{e007f}',
  '\ufe0f',
  '\u{e0100}',
  '<!--',
  '-->',
  '<![CDATA[',
  '<div hidden>',
  '</div>',
  '<b style="display:none',
  '![a](',
  '](javascript:',
  '[//]: # (',
  '&#',
  '&#x110000;',
  '&#xd800;',
  '&amp;amp;',
  '%',
  '%e2%82',
  '%ff',
  '=\r\n',
  '=3D',
  '\\u',
  '\\ud83d',
  '\\x4',
  '\\0',
  '{"a":"',
  '.. -. ',
  '____',
  '====',
  '((((',
  '<|im_start|>system',
  '[SEP]',
  'ignore all previous instructions',
  '1gn0r3',
  'i g n o r e ',
];

const wrappers: readonly ((text: string) => string)[] = [
  base64,
  (text) => Buffer.from(text).toString('hex'),
  (text) => base64(base64(text)),
  (text) => `<!-- ${text} -->`,
  (text) => [...text].join(' '),
  (text) => [...text].reverse().join(''),
  (text) => [...text].map((character) => `&#${character.codePointAt(0) ?? 0};`).join(''),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => text.replace(/[a-z]/gi, (c) => String.fromCharCode((((c.charCodeAt(0) & 31) + 12) % 26) + 65)),
  tags,
  (text) => text.normalize('NFD'),
  (text) => text.toUpperCase(),
  (text) => text.slice(1, -1),
];

const anyCharacter = (random: Random): string =>
  [
    () => String.fromCharCode(random(65_536)),
    () => String.fromCodePoint(random(0x110000)),
    () => String.fromCharCode(random(128)),
    () => String.fromCharCode(0x300 + random(112)).repeat(1 + random(40)),
  ][random(4)]?.() ?? '';

const mutate = (text: string, random: Random): string => {
  const at = random(text.length + 1);
  const to = Math.min(text.length, at + random(12));
  const changes: readonly (() => string)[] = [
    () => text.slice(0, at) + anyCharacter(random) + text.slice(at),
    () => text.slice(0, at) + text.slice(to),
    () => text.slice(0, at) + (PIECES[random(PIECES.length)] ?? '') + text.slice(at),
    () => text.slice(0, at) + text.slice(at, to).repeat(1 + random(5)) + text.slice(to),
    () => text.slice(0, at) + (wrappers[random(wrappers.length)]?.(text.slice(at, to)) ?? '') + text.slice(to),
    () => wrappers[random(wrappers.length)]?.(text) ?? text,
  ];
  return changes[random(changes.length)]?.() ?? text;
};

/** Random texts, and real ones changed a few times: `count` of them, none over 20,000 code units. */
export function* strangeTexts(seeds: readonly string[], count: number, random: Random): Generator<string> {
  for (let n = 0; n < count; n += 1) {
    let text = n % 4 === 0 ? '' : (seeds[random(seeds.length)] ?? '');
    if (text === '') for (let length = random(60); length > 0; length -= 1) text += anyCharacter(random);
    for (let change = 1 + random(6); change > 0; change -= 1) text = mutate(text, random);
    yield text.slice(0, 20_000);
  }
}
