/**
 * The alphabet that literals and texts are compared in before any pattern runs. Letters in lower case, digits, and
 * punctuation stand for themselves; a run of white space and separators (what a space in a pattern stands for) and
 * control characters is one space; any other character is four half-bytes, the first from a set of its own, so that a
 * comparison can't start inside a character. Between an ASCII letter or digit and anything else stands a space, as RE2's
 * `\b` sees an edge there. Coarser than any pattern, so that a literal which a pattern needs is never missed.
 */
export const SPACE = 0;
const LETTERS = 1;
const DIGITS = LETTERS + 26;
const MARKS = '!$%&()+,./:;<=?@[\\]^{}';
export const FIRST_MARK: number = DIGITS + 10;
/** Any character outside ASCII, to an automaton whose literals are all ASCII. */
export const FOREIGN: number = FIRST_MARK + MARKS.length;
export const LEAD: number = FOREIGN + 1;
export const HALF: number = LEAD + 16;
/** How many symbols there are; to ASCII literals, `LEAD`. */
export const SYMBOL_COUNT: number = HALF + 16;

/** Symbol of each ASCII character. */
export const ASCII_SYMBOLS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase();
  if (letter >= 'a' && letter <= 'z') return LETTERS + letter.charCodeAt(0) - 97;
  if (letter >= '0' && letter <= '9') return DIGITS + code - 48;
  const mark = MARKS.indexOf(letter);
  return mark < 0 ? SPACE : FIRST_MARK + mark;
});

/** The Kelvin sign and the long s are letters k and s to a raw pattern that ignores case. */
export function plainCase(code: number): number {
  return code === 0x212a ? 0x6b : code === 0x17f ? 0x73 : code;
}

/**
 * The symbols of a literal. With `isAscii`, a character outside ASCII is one symbol that no literal holds. What
 * `scanLiterals` reads of a text is the same, symbol by symbol.
 */
export function literalSymbols(literal: string, isAscii: boolean): readonly number[] {
  const symbols: number[] = [];
  // What the last character was: nothing, a space, a letter or digit, anything else.
  let last: 'start' | 'space' | 'word' | 'other' = 'start';
  for (let i = 0; i < literal.length; i++) {
    const code = plainCase(literal.charCodeAt(i));
    const symbol = code < 128 ? (ASCII_SYMBOLS[code] as number) : FOREIGN;
    if (symbol === SPACE) {
      if (last !== 'space') symbols.push(SPACE);
      last = 'space';
      continue;
    }
    const kind = symbol < FIRST_MARK ? 'word' : 'other';
    if ((kind === 'word' && last === 'other') || (kind === 'other' && last === 'word')) symbols.push(SPACE);
    last = kind;
    if (symbol !== FOREIGN || isAscii) symbols.push(symbol);
    else symbols.push(LEAD + (code >> 12), HALF + ((code >> 8) & 15), HALF + ((code >> 4) & 15), HALF + (code & 15));
  }
  return symbols;
}
