import { randomBytes } from 'node:crypto';
import { JsonNumber } from '../../index.js';
import { HttpError } from './http-error.js';

/** Arrays and objects inside one another. Deeper text can't be meant, and would cost the reader its stack. */
const MAX_JSON_DEPTH = 64;

/** Number of JSON values in a body that are read and written in canonical form in about ten milliseconds. */
const MAX_JSON_VALUES = 20_000;

// Invalid UTF-8 becomes U+FFFD: what is screened is what any other reader of these bytes would show.
const decoder = new TextDecoder('utf-8');

/**
 * The object in a JSON body. A repeated name is refused: JSON.parse keeps the last one, other readers the first, and
 * the text that isn't screened would reach the tool. A number that no double holds (`1e400`, 20 digits) is a `JsonNumber`.
 *
 * @param wanted what the body must be, for the message
 * @throws HttpError 400 that names the position or the type, never the text
 */
export function readJsonObject(body: Uint8Array, wanted: string): object {
  const text = decoder.decode(body);
  if (text.trim() === '') throw new HttpError(400, `The body is empty; it must be ${wanted}.`);
  // Before JSON.parse: a million brackets take it a quarter of a second.
  const { problem, inexact } = scanJson(text);
  if (problem?.kind === 'depth')
    throw new HttpError(
      400,
      `The body is nested deeper than ${MAX_JSON_DEPTH} levels at position ${problem.position}.`,
    );
  if (problem?.kind === 'values')
    throw new HttpError(400, `The body holds more than ${MAX_JSON_VALUES} values at position ${problem.position}.`);
  let value: unknown;
  try {
    value = inexact.length === 0 ? JSON.parse(text) : parseExact(text, inexact);
  } catch {
    throw new HttpError(400, `The body is not JSON: ${mistakeIn(text)}.`);
  }
  if (problem?.kind === 'duplicate')
    throw new HttpError(400, `The body repeats a name of the same object at position ${problem.position}.`);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  const type = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  throw new HttpError(400, `The body is ${type}; it must be ${wanted}.`);
}

function mistakeIn(text: string): string {
  const position = jsonMistake(text);
  return position >= text.length ? `it ends at position ${position}` : `unexpected character at position ${position}`;
}

/** A number of a text that a double would alter. */
interface NumberToken {
  readonly start: number;
  readonly end: number;
}

/** No string of a request begins with it. */
const NUMBER_MARK = randomBytes(16).toString('hex');

/** JSON.parse with the numbers given left as they were written. */
function parseExact(text: string, numbers: readonly NumberToken[]): unknown {
  let marked = '';
  let from = 0;
  for (const { start, end } of numbers) {
    marked += `${text.slice(from, start)}"${NUMBER_MARK}${text.slice(start, end)}"`;
    from = end;
  }
  return JSON.parse(marked + text.slice(from), (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(NUMBER_MARK)
      ? new JsonNumber(value.slice(NUMBER_MARK.length))
      : value,
  );
}

/** The parts of a JSON text that JSON.parse accepts or alters silently. Positions are in UTF-16 code units. */
interface ScannedJson {
  readonly problem: { readonly kind: 'depth' | 'values' | 'duplicate'; readonly position: number } | undefined;
  readonly inexact: readonly NumberToken[];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * The first too deep level of a text or the first value too many, or else its first repeated name; and the numbers that a
 * double would alter. One pass, jumping over strings. A text that isn't JSON may get a name that isn't one.
 */
function scanJson(text: string): ScannedJson {
  /** The names of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  const inexact: NumberToken[] = [];
  let expectsName = false;
  let repeated: number | undefined;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      const end = endOfString(text, at);
      const names = open.at(-1);
      if (expectsName && names) {
        const name = nameAt(text, at, end);
        if (names.has(name)) repeated ??= at;
        names.add(name);
        expectsName = false;
      }
      at = end;
    } else if (char === 0x7b || char === 0x5b) {
      open.push(char === 0x7b ? new Set() : null);
      expectsName = char === 0x7b;
      values += 1;
      if (open.length > MAX_JSON_DEPTH) return { problem: { kind: 'depth', position: at }, inexact };
    } else if (char === 0x7d || char === 0x5d) {
      open.pop();
      expectsName = false;
    } else if (char === 0x2c) {
      expectsName = open.at(-1) !== null;
      values += 1;
    } else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0];
      if (token !== undefined) {
        const end = at + token.length;
        if (!isExact(token)) inexact.push({ start: at, end });
        at = end - 1;
      }
    }
    if (values > MAX_JSON_VALUES) return { problem: { kind: 'values', position: at }, inexact };
  }
  return { problem: repeated === undefined ? undefined : { kind: 'duplicate', position: repeated }, inexact };
}

/** Whether the double of a number, written again, has the very value that was written. */
function isExact(token: string): boolean {
  if (token.length <= 15 && !/[eE]/.test(token)) return true;
  // Longer than any double is written: kept verbatim.
  if (token.length > 40) return false;
  const double = Number(token);
  return Number.isFinite(double) && decimal(token) === decimal(String(double));
}

/** A JSON number as `<sign><digits>e<exponent>` without zeros at either end of the digits: one text a value. */
function decimal(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - kept.length)}`;
}

/** The index of the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Two spellings of one name ("a" and "\\u0061") are one name. */
function nameAt(text: string, start: number, end: number): string {
  const raw = text.slice(start, end + 1);
  if (!raw.includes('\\')) return raw.slice(1, -1);
  try {
    return String(JSON.parse(raw));
  } catch {
    // No string of JSON: the whole text will be refused for it.
    return raw;
  }
}

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end';

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Where a text that JSON.parse refuses stops being the beginning of a JSON text, in UTF-16 code units; its length where
 * it only ends too early. JSON.parse says it too, but not always, in words that differ by version and quote the text.
 */
export function jsonMistake(text: string): number {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
    const char = text[at];
    if (char === undefined) return at;
    if (expected === 'colon') {
      if (char !== ':') return at;
      at++;
      expected = 'value';
    } else if (expected === 'comma or end' || ('}]'.includes(char) && expected.endsWith(char))) {
      if (char === ',' && open.length > 0) expected = open.at(-1) === '{' ? 'name' : 'value';
      else if (open.pop() === (char === '}' ? '{' : char === ']' ? '[' : '')) expected = 'comma or end';
      else return at;
      at++;
    } else if (char === '"') {
      const end = stringEnd(text, at);
      if (text[end] !== '"') return end;
      at = end + 1;
      expected = expected.startsWith('name') ? 'colon' : 'comma or end';
    } else if (expected.startsWith('name')) {
      return at;
    } else if (char === '{' || char === '[') {
      open.push(char);
      at++;
      expected = char === '{' ? 'name or }' : 'value or ]';
    } else {
      const end = after(SCALAR, text, at);
      if (end === at) return ['true', 'false', 'null'].some((it) => it.startsWith(text.slice(at))) ? text.length : at;
      at = end;
      expected = 'comma or end';
    }
  }
}

/** The closing quote of the string that opens at `start`, or where it goes wrong. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"' && text.charCodeAt(at) >= 0x20) {
    const next = text[at] === '\\' ? after(ESCAPE, text, at) : at + 1;
    if (next === at) break;
    at = next;
  }
  return at;
}

function after(token: RegExp, text: string, at: number): number {
  token.lastIndex = at;
  return token.test(text) ? token.lastIndex : at;
}
