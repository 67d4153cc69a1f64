import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { decodeBytes, readUtf8 } from './bytes.js';

/** Shorter runs are words of ordinary text far more often than they are code. */
const MIN_RUN = 16;

/** Six bits of each character of both alphabets; 255 for any other. */
const VALUES: Uint8Array = buildValues();

/**
 * Reads base64 and base64url, padded or not, over line breaks, also in data: URIs.
 * @see RFC 4648, sections 4 and 5
 */
export function decodeBase64(text: string, { codeRuns }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  let read = 0;
  for (let k = 0; k < codeRuns.length; k += 2) {
    const start = codeRuns[k] as number;
    if (start < read) continue;
    if (!mixesCases(text, start, codeRuns[k + 1] as number)) continue;
    const end = runEnd(text, start);
    const run = readRun(text, start, end);
    if (run === undefined) continue;
    found.push(run);
    read = run.end;
  }
  return found;
}

/** Code has letters of both cases; paths, names and digests rarely do. */
function mixesCases(text: string, from: number, to: number): boolean {
  let cases = 0;
  for (let i = from; i < to && i < from + 64; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x61) cases |= 1;
    else if (unit >= 0x41 && unit <= 0x5a) cases |= 2;
    if (cases === 3) return true;
  }
  return false;
}

/** The end of the run that starts at `from`; it continues across a line break between long lines of code. */
function runEnd(text: string, from: number): number {
  let line = from;
  for (let i = from; ; ) {
    while (i < text.length && valueAt(text, i) !== 255) i += 1;
    const size = i - line;
    let next = i;
    if (text.charCodeAt(next) === 0x5c && text.charAt(next + 1) === 'n') next += 2;
    else while (next < text.length && next - i < 3 && isBreak(text.charCodeAt(next))) next += 1;
    if (next === i || size < 20 || size % 4 !== 0 || valueAt(text, next) === 255) return padEnd(text, i);
    // Prose after a line of code is no code: its first word is short and followed by a space.
    let word = next;
    while (word < text.length && valueAt(text, word) !== 255 && word - next < 20) word += 1;
    if (word - next < 20 && text.charCodeAt(word) === 0x20) return padEnd(text, i);
    line = next;
    i = next;
  }
}

function padEnd(text: string, from: number): number {
  let to = from;
  while (to - from < 2 && text.charCodeAt(to) === 0x3d) to += 1;
  return to;
}

function readRun(text: string, from: number, to: number): Replacement | undefined {
  // A path or an identifier may stand before the code ("data/aGVsbG8..."): try again after its last sign.
  const whole = readPart(text, from, to);
  if (whole !== undefined) return whole;
  for (let i = from, tries = 0; i < Math.min(to, from + 64) && tries < 3; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit !== 0x2f && unit !== 0x2d && unit !== 0x5f && unit !== 0x2b) continue;
    tries += 1;
    if (to - i - 1 < MIN_RUN) break;
    const part = readPart(text, i + 1, to);
    if (part !== undefined) return part;
  }
  return undefined;
}

function readPart(text: string, from: number, to: number): Replacement | undefined {
  const probe = readBits(text, from, Math.min(to, from + 24), 6, valueAt);
  if (to - from > 32 && readUtf8(probe.bytes.subarray(0, 15)) === undefined) return undefined;
  const { bytes, at } = readBits(text, from, to, 6, valueAt);
  return decodeBytes({ start: from, end: to }, bytes, at, 'base64');
}

/** The bytes of a run whose characters are worth `bits` bits each (255: none), and where in the text the first bit of each stands. */
function readBits(
  text: string,
  from: number,
  to: number,
  bits: number,
  readValue: (text: string, at: number) => number,
): { readonly bytes: Uint8Array; readonly at: Int32Array } {
  const bytes = new Uint8Array(((to - from) * bits) >> 3);
  const at = new Int32Array(bytes.length);
  let value = 0;
  let held = 0;
  let size = 0;
  let first = from;
  for (let i = from; i < to; i += 1) {
    const own = readValue(text, i);
    if (own === 255) {
      if (text.charCodeAt(i) === 0x5c) i += 1;
      continue;
    }
    if (held === 0) first = i;
    value = ((value << bits) | own) & 0xffff;
    held += bits;
    if (held < 8) continue;
    held -= 8;
    bytes[size] = (value >> held) & 0xff;
    at[size] = first;
    size += 1;
    first = i;
  }
  return { bytes: bytes.subarray(0, size), at };
}

function valueAt(text: string, i: number): number {
  const unit = text.charCodeAt(i);
  return unit < 128 ? (VALUES[unit] as number) : 255;
}

function isBreak(unit: number): boolean {
  return unit === 0x0a || unit === 0x0d || unit === 0x20 || unit === 0x09;
}

function buildValues(): Uint8Array {
  const values = new Uint8Array(128).fill(255);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let i = 0; i < 64; i += 1) values[alphabet.charCodeAt(i)] = i;
  values[0x2d] = 62;
  values[0x5f] = 63;
  return values;
}

/** A run ends with `-`, or before a character that is no base64. */
const UTF7_RUN = /\+([A-Za-z0-9/+]{3,})-?/g;
/** Later ones are read out of what isn't UTF-7 far more often. */
const MAX_UTF7_UNIT = 0x800;

/** Reads the characters that UTF-7 encodes: `+AGk-` is i. @see RFC 2152 */
export function decodeUtf7(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const { 0: run, 1: code = '', index: start } of text.matchAll(UTF7_RUN)) {
    let [bits, held, read, isText] = [0, 0, '', true];
    for (let i = 0; i < code.length && isText; i += 1) {
      bits = (bits << 6) | valueAt(code, i);
      held += 6;
      if (held < 16) continue;
      held -= 16;
      const unit = bits >> held;
      isText = unit >= 9 && unit < MAX_UTF7_UNIT;
      read += String.fromCharCode(unit);
      bits &= (1 << held) - 1;
    }
    if (isText && held < 6 && bits === 0)
      found.push({ start, end: start + run.length, text: read, transform: 'utf-7' });
  }
  return found;
}

const RUN = /[A-Z2-7]{16,}={0,6}(?![A-Za-z0-9])/y;

/** Reads base32. @see RFC 4648, section 6 */
export function decodeBase32(text: string, { codeRuns }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let k = 0; k < codeRuns.length; k += 2) {
    const start = codeRuns[k] as number;
    RUN.lastIndex = start;
    if (!RUN.test(text)) continue;
    const end = RUN.lastIndex;
    const { bytes, at } = readBits(text, start, end, 5, base32ValueAt);
    const read = decodeBytes({ start, end }, bytes, at, 'base32');
    if (read !== undefined) found.push(read);
  }
  return found;
}

function base32ValueAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit === 0x3d) return 255;
  return unit >= 0x41 ? unit - 0x41 : unit - 0x18;
}
