import { HttpError } from './http-error.js';

/** Arrays and objects inside one another. Deeper text can't be meant, and would cost the reader its stack. */
const MAX_JSON_DEPTH = 64;

// Invalid UTF-8 becomes U+FFFD: what is screened is what any other reader of these bytes would show.
const decoder = new TextDecoder('utf-8');

/**
 * The value of a JSON body. A repeated name is refused: JSON.parse keeps the last one, other readers the first, and
 * the text that isn't screened would reach the tool.
 *
 * @throws HttpError 400 that names the position, never the text
 */
export function readJson(body: Buffer): unknown {
  const text = decoder.decode(body);
  if (text.trim() === '') throw new HttpError(400, 'The body is empty; it must be a JSON object with `input`.');
  // Before JSON.parse: a million brackets take it a quarter of a second.
  const problem = jsonProblem(text, MAX_JSON_DEPTH);
  if (problem?.kind === 'depth')
    throw new HttpError(
      400,
      `The body is nested deeper than ${MAX_JSON_DEPTH} levels at position ${problem.position}.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpError(400, `The body is not JSON: ${mistakeIn(text)}.`);
  }
  if (problem?.kind === 'duplicate')
    throw new HttpError(400, `The body repeats a name of the same object at position ${problem.position}.`);
  return value;
}

function mistakeIn(text: string): string {
  const position = jsonMistake(text);
  return position >= text.length ? `it ends at position ${position}` : `unexpected character at position ${position}`;
}

/** What JSON.parse lets by in a text that is JSON. Positions are in UTF-16 code units. */
export interface JsonProblem {
  readonly kind: 'depth' | 'duplicate';
  readonly position: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The first too deep level of a text, or else its first repeated name; one pass, jumping over strings. A text that isn't
 * JSON may get a name that isn't one.
 */
function jsonProblem(text: string, maxDepth: number): JsonProblem | undefined {
  /** The names of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let expectsName = false;
  let repeated: number | undefined;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        const names = open.at(-1);
        if (expectsName && names) {
          const name = nameAt(text, at, end);
          if (names.has(name)) repeated ??= at;
          names.add(name);
          expectsName = false;
        }
        at = end;
        break;
      }
      case 0x7b: // {
        open.push(new Set());
        expectsName = true;
        if (open.length > maxDepth) return { kind: 'depth', position: at };
        break;
      case 0x5b: // [
        open.push(null);
        expectsName = false;
        if (open.length > maxDepth) return { kind: 'depth', position: at };
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        expectsName = open.at(-1) !== null;
        break;
    }
  }
  return repeated === undefined ? undefined : { kind: 'duplicate', position: repeated };
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
