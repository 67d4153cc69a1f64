import type { Replacement } from '../replacement.js';

const ESCAPE =
  /\\(?:u([0-9A-Fa-f]{4})(?:\\u([dD][c-fC-F][0-9A-Fa-f]{2}))?|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})(?![0-9A-Fa-f])|0{0,4}([2-7][0-9A-Fa-f])(?![0-9A-Fa-f]) ?|(["'\\/nrtbfv]))/g;

const SIMPLE: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '',
  f: '\f',
  v: '\v',
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
};

/** Reads the escapes of JSON, JavaScript, C and CSS. @see RFC 8259, section 7 */
export function decodeEscapes(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(ESCAPE)) {
    const start = match.index;
    const read = readEscape(match);
    if (read !== undefined) found.push({ start, end: start + match[0].length, text: read, transform: 'escapes' });
  }
  return found;
}

function readEscape([, unit, low, braced, byte, long, octal, css, simple]: RegExpExecArray): string | undefined {
  if (simple !== undefined) return SIMPLE[simple];
  if (octal !== undefined) return character(Number.parseInt(octal, 8));
  const codePoint = Number.parseInt(unit ?? braced ?? byte ?? long ?? css ?? '', 16);
  if (low === undefined) return character(codePoint);
  const second = Number.parseInt(low, 16);
  const high = (codePoint & 0xfc00) === 0xd800;
  if (high) return String.fromCodePoint(0x10000 + ((codePoint - 0xd800) << 10) + (second - 0xdc00));
  return `${character(codePoint) ?? ''}\ufffd`;
}

function character(codePoint: number): string | undefined {
  if (!(codePoint <= 0x10ffff)) return undefined;
  return (codePoint & 0xfffff800) === 0xd800 ? '\ufffd' : String.fromCodePoint(codePoint);
}
