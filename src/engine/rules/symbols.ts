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
const FIRST_MARK: number = DIGITS + 10;
/** Any character outside ASCII, to an automaton whose literals are all ASCII. */
const FOREIGN: number = FIRST_MARK + MARKS.length;
const LEAD: number = FOREIGN + 1;
const HALF: number = LEAD + 16;
/** How many symbols there are: for ASCII literals, and for others. */
export const ASCII_SYMBOL_COUNT: number = LEAD;
export const SYMBOL_COUNT: number = HALF + 16;

/** Symbol of each ASCII character. */
const ASCII_SYMBOLS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase();
  if (letter >= 'a' && letter <= 'z') return LETTERS + letter.charCodeAt(0) - 97;
  if (letter >= '0' && letter <= '9') return DIGITS + code - 48;
  const mark = MARKS.indexOf(letter);
  return mark < 0 ? SPACE : FIRST_MARK + mark;
});

/** The Kelvin sign and the long s are letters k and s to a raw pattern that ignores case. */
function plainCase(code: number): number {
  return code === 0x212a ? 0x6b : code === 0x17f ? 0x73 : code;
}

/**
 * Calls `step` for each symbol of a text, with the offset just after its character. With `isAscii`, a character outside
 * ASCII is one symbol that no literal holds. One pass.
 */
export function readSymbols(text: string, isAscii: boolean, step: (symbol: number, end: number) => void): void {
  // What the last character was: nothing, a space, a letter or digit, anything else.
  let last: 'start' | 'space' | 'word' | 'other' = 'start';
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code >= 128) code = plainCase(code);
    const symbol = code < 128 ? (ASCII_SYMBOLS[code] as number) : FOREIGN;
    if (symbol === SPACE) {
      if (last !== 'space') step(SPACE, i + 1);
      last = 'space';
      continue;
    }
    const kind = symbol < FIRST_MARK ? 'word' : 'other';
    if ((kind === 'word' && last === 'other') || (kind === 'other' && last === 'word')) step(SPACE, i);
    last = kind;
    if (symbol !== FOREIGN || isAscii) {
      step(symbol, i + 1);
      continue;
    }
    step(LEAD + (code >> 12), i + 1);
    step(HALF + ((code >> 8) & 15), i + 1);
    step(HALF + ((code >> 4) & 15), i + 1);
    step(HALF + (code & 15), i + 1);
  }
}
