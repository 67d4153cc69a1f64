import type { Replacement } from '../replacement.js';

const CODE =
  /\\(?:u([0-9A-Fa-f]{4})(?:\\u([dD][c-fC-F][0-9A-Fa-f]{2}))?|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})(?![0-9A-Fa-f])|0{0,4}([2-7][0-9A-Fa-f])(?![0-9A-Fa-f]) ?)/y;

/** What an escape of one character stands for. */
const SIMPLE: ReadonlyMap<number, string> = new Map(
  [...'n\nr\rt\tf\fv\v""\'\'\\\\//']
    .join('')
    .match(/../gs)
    ?.map((pair) => [pair.charCodeAt(0), pair.charAt(1)]) ?? [],
);

/** Reads the escapes of JSON, JavaScript, C and CSS. @see RFC 8259, section 7 */
export function decodeEscapes(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let at = text.indexOf('\\'); at >= 0; ) {
    const simple = SIMPLE.get(text.charCodeAt(at + 1));
    let end = at + 2;
    if (simple !== undefined) found.push({ start: at, end, text: simple, transform: 'escapes' });
    else {
      CODE.lastIndex = at;
      const match = CODE.exec(text);
      const read = match === null ? undefined : readCode(match);
      end = at + (match?.[0].length ?? 1);
      if (read !== undefined) found.push({ start: at, end, text: read, transform: 'escapes' });
    }
    at = text.indexOf('\\', end);
  }
  return found;
}

function readCode([, unit, low, braced, byte, long, octal, css]: RegExpExecArray): string | undefined {
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
