import { Buffer } from 'node:buffer';

/** Writers of the disguises that the decoders undo. */
const bytes = (text: string): readonly number[] => [...Buffer.from(text)];
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
export function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}
export function each(text: string, write: (code: number) => string, between = ''): string {
  return bytes(text).map(write).join(between);
}
export function binary(code: number): string {
  return code.toString(2).padStart(8, '0');
}
export function octal(code: number): string {
  return code.toString(8).padStart(3, '0');
}
export function hexPair(code: number): string {
  return code.toString(16).padStart(2, '0');
}

export function base32(text: string): string {
  const bits = each(text, binary);
  const letters = (bits.match(/.{1,5}/g) ?? []).map((five) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.charAt(Number.parseInt(five.padEnd(5, '0'), 2)),
  );
  while (letters.length % 8 !== 0) letters.push('=');
  return letters.join('');
}

export function caesar(text: string, shift: number): string {
  return text.replace(/[a-z]/g, (c) => String.fromCharCode(((c.charCodeAt(0) - 97 + shift) % 26) + 97));
}

export function backwards(text: string): string {
  return [...text].reverse().join('');
}

const MORSE =
  '.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..'.split(
    ' ',
  );

export function morse(text: string): string {
  const word = (letters: string): string => [...letters].map((c) => MORSE[c.charCodeAt(0) - 97]).join(' ');
  return text.split(' ').map(word).join(' / ');
}

export function tags(text: string): string {
  return each(text, (code) => String.fromCodePoint(0xe0000 + code));
}

export function selectors(text: string): string {
  return each(text, (code) => String.fromCodePoint(code < 16 ? 0xfe00 + code : 0xe0100 + code - 16));
}

export function zeroWidth(text: string): string {
  return each(text, binary).replaceAll('0', '\u200b').replaceAll('1', '\u200c');
}

const BRAILLE =
  '\x01\x03\x09\x19\x11\x0b\x1b\x13\x0a\x1a\x05\x07\x0d\x1d\x15\x0f\x1f\x17\x0e\x1e\x25\x27\x3a\x2d\x3d\x35';

export function braille(text: string): string {
  return [...text]
    .map((c) => String.fromCharCode(0x2800 + (c === ' ' ? 0 : BRAILLE.charCodeAt(c.charCodeAt(0) - 97))))
    .join('');
}

export function upsideDown(text: string): string {
  return [...backwards(text)]
    .map((c) => (c === ' ' ? c : [...'ɐqɔpǝɟƃɥᴉɾʞןɯuodbɹsʇnʌʍxʎz'][c.charCodeAt(0) - 97]))
    .join('');
}

const RADIO = (
  'Alfa Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo Lima Mike November Oscar Papa Quebec Romeo Sierra ' +
  'Tango Uniform Victor Whiskey Xray Yankee Zulu'
).split(' ');

export function radio(text: string): string {
  return text
    .split(' ')
    .map((word) => [...word].map((c) => RADIO[c.charCodeAt(0) - 97]).join(' '))
    .join(' / ');
}

export function apart(text: string, between: string, words: string): string {
  return text
    .split(' ')
    .map((word) => [...word].join(between))
    .join(words);
}
