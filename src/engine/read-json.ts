import { JsonNumber } from './canonical-json.js';

export interface JsonBounds {
  /** Arrays and objects inside one another. */
  readonly depth: number;
  /** Values in all, members and items included. Default: no bound. */
  readonly values?: number | undefined;
  /** True: a number that no double holds becomes a `JsonNumber`. Default: it is rounded, as `JSON.parse` does. */
  readonly exact?: boolean | undefined;
}

/** The value of a JSON text, or the first thing that is wrong with it. Positions are in UTF-16 code units. */
export type JsonReading =
  | {
      readonly value: unknown;
      /** The text without white space between its tokens: numbers keep all their digits. */
      readonly text: string;
      /** Position of the first name that its object had already; `JSON.parse` keeps the last member, other readers the first. */
      readonly repeated: number | undefined;
    }
  | JsonProblem;

export interface JsonProblem {
  /** `syntax`: the text stops being the beginning of a JSON text at `position`, or only ends too early. */
  readonly problem: 'syntax' | 'depth' | 'values';
  readonly position: number;
}

/** Reads a JSON text in one pass and linear time; by a loop, so that its depth costs no stack. Throws nothing. */
export function readJson(text: string, bounds: JsonBounds): JsonReading {
  return walkJson(text, bounds).reading;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/**
 * The path of the JSON value that holds an offset, e.g. `$.arguments.to[0]`; the object's own path
 * where the offset is on a name, a brace or a comma. `text` must be valid JSON. O(offset).
 *
 * @see RFC 9535, JSONPath
 */
export function jsonPathAt(text: string, offset: number): string {
  let path = '$';
  for (const { step } of walkJson(text, { depth: Number.POSITIVE_INFINITY }, offset).levels) {
    if (typeof step === 'number') path += `[${step}]`;
    else if (step !== undefined) path += PLAIN_NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return path;
}

interface Level {
  readonly value: Record<string | number, unknown>;
  readonly isArray: boolean;
  /** The member or item that is being read; undefined between the members of an object. */
  step: string | number | undefined;
}

interface Walk {
  readonly text: string;
  readonly levels: Level[];
  at: number;
  expected: 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end';
  root: unknown;
  count: number;
  repeated: number | undefined;
}

/** Reads tokens that begin at `until` or before it, but no string that holds it. */
function walkJson(
  text: string,
  bounds: JsonBounds,
  until?: number,
): Pick<Walk, 'levels'> & { readonly reading: JsonReading } {
  const levels: Level[] = [];
  const walk: Walk = { text, levels, at: 0, expected: 'value', root: undefined, count: 0, repeated: undefined };
  let written = '';
  let writtenTo = 0;
  while (walk.at < text.length && walk.at <= (until ?? text.length)) {
    const { at } = walk;
    while (isSpace(text.charCodeAt(walk.at))) walk.at += 1;
    if (walk.at > at) {
      written += text.slice(writtenTo, at);
      writtenTo = walk.at;
      continue;
    }
    const problem = text[at] === '"' ? readString(walk, until) : readToken(walk, bounds);
    if (problem === 'stop') break;
    if (problem !== undefined) return { levels, reading: problem };
    if (levels.length > bounds.depth) return { levels, reading: { problem: 'depth', position: at } };
    if (walk.count > (bounds.values ?? walk.count)) return { levels, reading: { problem: 'values', position: at } };
  }
  const isWhole = levels.length === 0 && walk.expected === 'comma or end';
  const whole = { value: walk.root, text: written + text.slice(writtenTo), repeated: walk.repeated };
  return { levels, reading: isWhole ? whole : wrong(walk) };
}

function wrong({ at }: Walk, position: number = at): JsonProblem {
  return { problem: 'syntax', position };
}

function readString(walk: Walk, until: number | undefined): JsonProblem | 'stop' | undefined {
  const { text, at, expected } = walk;
  if (expected === 'colon' || expected === 'comma or end') return wrong(walk);
  const end = endOfString(text, at);
  if (until !== undefined && until < end) return 'stop';
  const string = decodeString(text, at, end);
  if (string === undefined) return wrong(walk, mistakeInString(text, at));
  const level = walk.levels.at(-1);
  walk.at = end;
  if (level === undefined || expected.startsWith('value')) return put(walk, string);
  if (Object.hasOwn(level.value, string)) walk.repeated ??= at;
  level.step = string;
  walk.expected = 'colon';
  return undefined;
}

/** Reads any token but a string. */
function readToken(walk: Walk, { exact = false }: JsonBounds): JsonProblem | undefined {
  const { text, at, expected, levels } = walk;
  const char = text[at] as string;
  const level = levels.at(-1);
  walk.at += 1;
  if (expected === 'colon') {
    if (char !== ':') return wrong(walk, at);
    walk.expected = 'value';
  } else if (expected === 'comma or end' || ('}]'.includes(char) && expected.endsWith(char))) {
    if (level === undefined) return wrong(walk, at);
    if (char === ',') {
      level.step = level.isArray ? Number(level.step) + 1 : undefined;
      walk.expected = level.isArray ? 'value' : 'name';
    } else if (char === (level.isArray ? ']' : '}')) {
      levels.pop();
      walk.expected = 'comma or end';
    } else return wrong(walk, at);
  } else if (expected.startsWith('name')) {
    return wrong(walk, at);
  } else if (char === '{' || char === '[') {
    const isArray = char === '[';
    const value = (isArray ? [] : {}) as Level['value'];
    put(walk, value);
    levels.push({ value, isArray, step: isArray ? 0 : undefined });
    walk.expected = isArray ? 'value or ]' : 'name or }';
  } else {
    const end = after(SCALAR, text, at);
    const isCut = end === at && ['true', 'false', 'null'].some((literal) => literal.startsWith(text.slice(at)));
    if (end === at) return wrong(walk, isCut ? text.length : at);
    put(walk, readScalar(text.slice(at, end), exact));
    walk.at = end;
  }
  return undefined;
}

function put(walk: Walk, value: unknown): undefined {
  const level = walk.levels.at(-1);
  if (level === undefined) walk.root = value;
  // An assignment would set the object's prototype.
  else if (level.step === '__proto__')
    Object.defineProperty(level.value, level.step, { value, configurable: true, enumerable: true, writable: true });
  else level.value[level.step as string | number] = value;
  walk.count += 1;
  walk.expected = 'comma or end';
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
/** A longer slice isn't copied: it would keep the whole text in memory. `JSON.parse` copies. */
const SHORT = 13;
/** Control characters are refused, and escapes decoded. */
const NEEDS_DECODING = /[\\\p{Cc}]/u;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The offset after the closing quote of the string that opens at `start`; one past the text where it isn't closed. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length + 1;
}

/** The string between two quotes; undefined where it isn't one of JSON. */
function decodeString(text: string, start: number, end: number): string | undefined {
  if (end > text.length) return undefined;
  const raw = text.slice(start + 1, end - 1);
  if (raw.length < SHORT && !NEEDS_DECODING.test(raw)) return raw;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch {
    return undefined;
  }
}

/** Returns the offset of the first mistake in a string that opens at `start`, or the end of a text that ends in it. */
function mistakeInString(text: string, start: number): number {
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

function readScalar(token: string, exact: boolean): unknown {
  if (token === 'null') return null;
  if (token === 'true' || token === 'false') return token === 'true';
  // A copy, as of strings: a slice keeps the whole text alive.
  return exact && !isExact(token) ? new JsonNumber(JSON.parse(`"${token}"`) as string) : Number(token);
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
