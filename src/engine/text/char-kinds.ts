/** The constructs that an ASCII character can be part of; bits of one number. */
export const LETTER: number = 1;
export const DIGIT: number = 2;
export const HEX: number = 4;
/** 0 or 1. */
export const BINARY: number = 8;
export const WHITE: number = 16;
/** White space or a control that the folded view changes even when it stands alone. */
export const UNPLAIN: number = 32;
/** + / - _ which base64 has besides letters and digits. */
export const BASE64_SIGN: number = 64;
export const PERCENT: number = 1 << 7;
export const AMPERSAND: number = 1 << 8;
export const BACKSLASH: number = 1 << 9;
export const LESS: number = 1 << 10;
export const EQUALS: number = 1 << 11;
export const BRACKET: number = 1 << 13;
/** @ $ ! | which stand for letters in leet. */
export const LEET_SIGN: number = 1 << 14;
export const DASH: number = 1 << 16;
/** Signs that may stand between words instead of a space. */
export const JOINER: number = 1 << 17;

/** The kinds of each ASCII character. */
export const KINDS: Int32Array = build();

/** Whether a code unit is an ASCII character of one of these kinds. */
export function isKind(unit: number, kinds: number): boolean {
  return unit < 0x80 && ((KINDS[unit] as number) & kinds) !== 0;
}

function build(): Int32Array {
  const kinds = new Int32Array(128);
  const mark = (characters: string, kind: number): void => {
    for (const character of characters) {
      const code = character.charCodeAt(0);
      kinds[code] = (kinds[code] as number) | kind;
    }
  };
  for (let i = 0; i < 0x20; i += 1) kinds[i] = UNPLAIN;
  kinds[0x7f] = UNPLAIN;
  mark('\t\v\f\r\x1c\x1d\x1e\x1f \n', WHITE);
  kinds[0x0a] = WHITE;
  mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', LETTER);
  mark('0123456789', DIGIT);
  mark('0123456789abcdefABCDEF', HEX);
  mark('01', BINARY);
  mark('+/-_', BASE64_SIGN);
  mark('%', PERCENT);
  mark('&', AMPERSAND);
  mark('\\', BACKSLASH);
  mark('<', LESS);
  mark('=', EQUALS);
  mark('[', BRACKET);
  mark('@$!|', LEET_SIGN);
  mark('-', DASH);
  mark('.,/\\+:;=&^', JOINER);
  return kinds;
}
