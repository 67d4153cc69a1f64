import { DecodingMode, HtmlEntityDecoder } from 'entities/decode';
import type { Replacement } from '../rewrite.js';
import { readUtf8 } from './bytes.js';

/** Bounded: no escape is longer than twelve characters. */
const CODE =
  /\\(?:u([0-9A-Fa-f]{4})(?:\\u([dD][c-fC-F][0-9A-Fa-f]{2}))?|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})(?![0-9A-Fa-f])|0{0,4}([2-7][0-9A-Fa-f])(?![0-9A-Fa-f]) ?)/y;

/** The characters that one-character escapes stand for. */
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

const PERCENT_RUN = /(?:%[0-9A-Fa-f]{2})+|%u[0-9A-Fa-f]{4}/g;

/** Reads percent-encoded bytes, and the `%u0069` of old scripts. @see RFC 3986, section 2.1 */
export function decodePercent(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const { 0: run, index: start } of text.matchAll(PERCENT_RUN)) {
    const end = start + run.length;
    if (run.charAt(1) === 'u') {
      const unit = Number.parseInt(run.slice(2), 16);
      if ((unit & 0xf800) !== 0xd800) found.push({ start, end, text: String.fromCharCode(unit), transform: 'percent' });
    } else if (run.length === 3 && run.charCodeAt(1) < 0x38) {
      // One ASCII character alone is the common case; controls are kept.
      found.push({ start, end, text: String.fromCharCode(Number.parseInt(run.slice(1), 16)), transform: 'percent' });
    } else {
      const read = decodeSignedBytes(run, start, 'percent');
      if (read !== undefined) found.push(read);
    }
  }
  return found;
}

const QUOTED_RUN = /(?:=[0-9A-F]{2})+|=[ \t]{0,4}\r?\n/g;
/** Fewer are the values of some address or assignment. */
const MIN_QUOTED = 3;
const BROKEN_WORD = /[A-Za-z]=\r?\n[A-Za-z]/;

/** Reads quoted-printable mail text. @see RFC 2045, section 6.7 */
export function decodeQuotedPrintable(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  let codes = 0;
  for (const { 0: run, index: start } of text.matchAll(QUOTED_RUN)) {
    if (run.endsWith('\n')) {
      found.push({ start, end: start + run.length, text: '', transform: 'quoted-printable' });
      continue;
    }
    codes += 1;
    const read = decodeSignedBytes(run, start, 'quoted-printable');
    if (read !== undefined && !/[\ufffd\0]/.test(read.text)) found.push(read);
  }
  return (codes > 0 && found.length >= MIN_QUOTED) || BROKEN_WORD.test(text) ? found : [];
}

/** Reads bytes written as a sign and two hex digits each: `%69%67`, `=69=67`. */
function decodeSignedBytes(run: string, start: number, transform: string): Replacement | undefined {
  const byteAt = (index: number): number => Number.parseInt(run.slice(3 * index + 1, 3 * index + 3), 16);
  const end = start + run.length;
  const read = readUtf8(
    Uint8Array.from({ length: run.length / 3 }, (_, index) => byteAt(index)),
    true,
  );
  return read && { start, end, text: read.text, starts: read.starts.map((byte) => start + 3 * byte), transform };
}

/**
 * Reads HTML character references as a browser reads text: all names of HTML, some of them also without their semicolon,
 * and numbers of any length. Linear.
 * @see https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state
 */
export function decodeEntities(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  let read = '';
  const decoder = new HtmlEntityDecoder((unit) => {
    read += String.fromCodePoint(unit);
  });
  for (let start = text.indexOf('&'); start >= 0; ) {
    read = '';
    decoder.startEntity(DecodingMode.Legacy);
    const written = decoder.write(text, start + 1);
    const size = written < 0 ? decoder.end() : written;
    if (size > 0) found.push({ start, end: start + size, text: read, transform: 'entities' });
    start = text.indexOf('&', start + Math.max(size, 1));
  }
  return found;
}
