/**
 * The alphabet that literals and texts are compared in before any pattern runs. Letters in lower case, digits, and
 * punctuation stand for themselves; a run of white space and separators (what a space in a pattern stands for) and
 * control characters is one space; any other character is one of 64 classes. Between an ASCII letter or digit and
 * anything else stands a space, as RE2's `\b` sees a boundary there. Coarser than any pattern, so that a literal which a
 * pattern needs is never missed.
 */
const SPACE = 0;
const LETTERS = 1;
const FIRST_DIGIT: number = LETTERS + 26;
const PUNCTUATION = '!$%&()+,./:;<=?@[\\]^{}';
const FIRST_PUNCTUATION: number = FIRST_DIGIT + 10;
/** The first class of characters outside ASCII. */
const FIRST_NON_ASCII = 64;
export const SYMBOL_COUNT = 128;

/** Symbol of each ASCII character. */
const ASCII_SYMBOLS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase();
  if (letter >= 'a' && letter <= 'z') return LETTERS + letter.charCodeAt(0) - 97;
  if (letter >= '0' && letter <= '9') return FIRST_DIGIT + code - 48;
  const mark = PUNCTUATION.indexOf(letter);
  return mark < 0 ? SPACE : FIRST_PUNCTUATION + mark;
});

/** The Kelvin sign and the long s are letters k and s to a raw pattern that ignores case. */
function toNonAsciiSymbol(code: number): number {
  if (code === 0x212a) return ASCII_SYMBOLS[0x6b] as number;
  if (code === 0x17f) return ASCII_SYMBOLS[0x73] as number;
  return FIRST_NON_ASCII | (Math.imul(code, 0x9e3779b1) >>> 26);
}

const toSymbol = (code: number): number => (code < 128 ? (ASCII_SYMBOLS[code] as number) : toNonAsciiSymbol(code));

/** The kind of a symbol: a space, a letter or digit, anything else. */
const SYMBOL_KINDS: Uint8Array = Uint8Array.from({ length: SYMBOL_COUNT }, (_, symbol) =>
  symbol === SPACE ? 0 : symbol < FIRST_PUNCTUATION ? 1 : 2,
);
/** By three times the last symbol's kind and the next one's: whether a word boundary lies between them. */
const HAS_BOUNDARY = Uint8Array.from([0, 0, 0, 0, 0, 1, 0, 1, 0]);
/** The same: whether the next one is kept; a space after a space is not. */
const IS_KEPT = Uint8Array.from([0, 1, 1, 1, 1, 1, 1, 1, 1]);

/** The symbols of a text. Reused from text to text and only ever grown. */
export interface SymbolBuffer {
  size: number;
  symbols: Uint8Array;
  /** End of each symbol in the text, UTF-16 code units; a word boundary ends where it stands. */
  ends: Int32Array;
  /** The text contains characters outside ASCII. */
  hasNonAscii: boolean;
}

/** An empty buffer with room for a text of `length`. */
export function createSymbolBuffer(length: number): SymbolBuffer {
  return {
    size: 0,
    symbols: new Uint8Array(2 * length + 2),
    ends: new Int32Array(2 * length + 2),
    hasNonAscii: false,
  };
}

/**
 * Reads the symbols of a text; a word boundary stands at its start and its end. The loop has no branch that depends on the text
 * except for characters outside ASCII: branches are what costs.
 */
export function encode(text: string, buffer: SymbolBuffer): void {
  const { length } = text;
  if (2 * length + 2 > buffer.symbols.length) {
    buffer.symbols = new Uint8Array(4 * length + 2);
    buffer.ends = new Int32Array(4 * length + 2);
  }
  const { symbols, ends } = buffer;
  symbols[0] = SPACE;
  ends[0] = 0;
  let size = 1;
  let units = 0;
  let last = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    units |= code;
    const symbol = toSymbol(code);
    const kind = SYMBOL_KINDS[symbol] as number;
    symbols[size] = SPACE;
    ends[size] = i;
    size += HAS_BOUNDARY[last + kind] as number;
    symbols[size] = symbol;
    ends[size] = i + 1;
    size += IS_KEPT[last + kind] as number;
    last = 3 * kind;
  }
  symbols[size] = SPACE;
  ends[size] = length;
  buffer.size = last === 0 ? size : size + 1;
  buffer.hasNonAscii = units > 127;
}

/** The symbols of a literal as char codes, without the word boundaries at its ends. Uses the buffer. */
export function encodeLiteral(literal: string, buffer: SymbolBuffer): string {
  encode(literal, buffer);
  const isSpace = (at: number): boolean => at >= 0 && toSymbol(literal.charCodeAt(at)) === SPACE;
  const from = isSpace(0) ? 0 : 1;
  const to = isSpace(literal.length - 1) ? buffer.size : buffer.size - 1;
  return String.fromCharCode(...buffer.symbols.subarray(from, to));
}

/** A text with each run of characters that are a space in this alphabet as one space. */
export function collapseSpaces(text: string): string {
  let out = '';
  for (const letter of text) {
    const code = letter.charCodeAt(0);
    const isSpace = code < 128 && ASCII_SYMBOLS[code] === SPACE;
    if (!isSpace) out += letter;
    else if (!out.endsWith(' ')) out += ' ';
  }
  return out;
}
