import { BASE64_SIGN, BINARY, DIGIT, ESCAPE, HEX, KINDS, LETTER, UNPLAIN, WHITE } from './char-kinds.js';
import { TAGS, tagOf } from './cipher-words.js';

/** What one pass over a text finds; every transform asks it first, so that ordinary text costs that pass alone. */
export interface Features {
  /** ASCII alone. */
  readonly ascii: boolean;
  /** ASCII whose fold is its lower case. */
  readonly plain: boolean;
  readonly surrogates: boolean;
  /** Kinds of the signs that occur (see char-kinds). */
  readonly signs: number;
  /** Longest run of base64 characters (letters and digits among them). */
  readonly codeRun: number;
  /** Longest row of words of one letter or digit. */
  readonly singles: number;
  /** Longest rows of words of two hex digits, of two or three digits, of seven or eight binary digits. */
  readonly hexPairs: number;
  readonly numbers: number;
  readonly binaries: number;
  /** Longest word of binary digits. */
  readonly binaryRun: number;
  /** Words that mix letters and digits. */
  readonly mixed: number;
  /** Where words of ASCII letters begin that are 12 or longer. */
  readonly longWords: readonly number[];
  /** Dots and dashes. */
  readonly dots: number;
  /** Words met of each cipher tag; undefined when none was. */
  readonly tags: Uint32Array | undefined;
  /** Variation selectors, tag characters, Braille signs, phonetic letters. */
  readonly selectors: number;
  readonly tagCharacters: number;
  readonly braille: number;
  readonly phonetic: number;
}

/** Reads the text once. */
export function scanFeatures(text: string): Features {
  const { length } = text;
  let ascii = true;
  let unplain = 0;
  let surrogates = false;
  let signs = 0;
  let codeRun = 0;
  let runStart = 0;
  let singles = 0;
  let single = 0;
  let hexPairs = 0;
  let hexPair = 0;
  let numbers = 0;
  let number = 0;
  let binaries = 0;
  let binary = 0;
  let binaryRun = 0;
  let mixed = 0;
  let dots = 0;
  let selectors = 0;
  let tagCharacters = 0;
  let braille = 0;
  let phonetic = 0;
  let tags: Uint32Array | undefined;
  let longWords: number[] | undefined;
  let size = 0;
  let any = 0;
  let all = -1;
  let hash = 0;
  let before = 0;
  for (let i = 0; i <= length; i += 1) {
    const unit = i < length ? text.charCodeAt(i) : 0x20;
    let kind: number;
    if (unit < 0x80) {
      kind = KINDS[unit] as number;
      if ((kind & (LETTER | DIGIT)) !== 0) {
        size += 1;
        any |= kind;
        all &= kind;
        hash = (Math.imul(hash, 31) + (unit | 0x20)) | 0;
        continue;
      }
    } else {
      ascii = false;
      kind = 0;
      if ((unit & 0xf800) === 0xd800) {
        surrogates = true;
        if (unit === 0xdb40) {
          if ((text.charCodeAt(i + 1) & 0xff80) === 0xdc00) tagCharacters += 1;
          else selectors += 1;
        }
      } else if (unit >= 0xfe00 && unit <= 0xfe0f) selectors += 1;
      else if ((unit & 0xff00) === 0x2800) braille += 1;
      else if ((unit >= 0x0250 && unit <= 0x02af) || unit === 0x01dd || unit === 0x0131) phonetic += 1;
      if (unit >= 0xc0 && (unit < 0x2000 || unit > 0x2bff)) {
        // A letter of some other script: part of the word.
        size += 1;
        all = 0;
        any |= 1 << 30;
        continue;
      }
    }
    if (size !== 0) {
      if (size === 1) {
        single += 1;
        if (single > singles) singles = single;
        hexPair = 0;
        number = 0;
        binary = 0;
      } else {
        single = 0;
        const asciiWord = any < 1 << 30;
        hexPair = size === 2 && (all & HEX) !== 0 ? hexPair + 1 : 0;
        if (hexPair > hexPairs) hexPairs = hexPair;
        number = size <= 3 && (all & DIGIT) !== 0 ? number + 1 : 0;
        if (number > numbers) numbers = number;
        if ((all & BINARY) !== 0 && size >= 6) {
          binary += 1;
          if (binary > binaries) binaries = binary;
          if (size > binaryRun) binaryRun = size;
        } else binary = 0;
        if ((any & (LETTER | DIGIT)) === (LETTER | DIGIT)) mixed += 1;
        else if (asciiWord && size >= 3 && (any & DIGIT) === 0) {
          const tag = tagOf(hash);
          if (tag !== 0) {
            tags ??= new Uint32Array(TAGS);
            tags[tag] = (tags[tag] as number) + 1;
          }
          if (size >= 12) {
            longWords ??= [];
            longWords.push(i - size);
          }
        }
      }
      size = 0;
      any = 0;
      all = -1;
      hash = 0;
    }
    if ((kind & BASE64_SIGN) === 0) {
      if (i - runStart > codeRun) codeRun = i - runStart;
      runStart = i + 1;
    }
    if (unit === 0x20) {
      // The space is the commonest sign of all and only matters after another one.
      if ((before & WHITE) !== 0 && i < length) unplain |= UNPLAIN;
      before = WHITE;
      continue;
    }
    if (unit === 0x2e || unit === 0x2d) dots += 1;
    if ((kind & before & WHITE) !== 0) unplain |= UNPLAIN;
    before = kind & WHITE;
    signs |= kind;
  }
  return {
    ascii,
    plain: ascii && ((unplain | signs) & (UNPLAIN | ESCAPE)) === 0,
    surrogates,
    signs,
    codeRun,
    singles,
    hexPairs,
    numbers,
    binaries,
    binaryRun,
    mixed,
    longWords: longWords ?? NONE,
    dots,
    tags,
    selectors,
    tagCharacters,
    braille,
    phonetic,
  };
}

const NONE: readonly number[] = [];
