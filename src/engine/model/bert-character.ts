import { isNewerCharacter } from './newer-characters.js';

/** One code point as BERT's uncased tokenizer reads it: the parts that it adds to words, and where it ends them. */
export interface BertCharacter {
  /** Lower-case code points without accents; an empty list where nothing is left. */
  readonly parts: readonly string[];
  /** White space, or what stands alone (punctuation, CJK ideographs), by part. */
  readonly kinds: readonly ('letter' | 'space' | 'alone')[];
}

const SPACE: BertCharacter = { parts: [' '], kinds: ['space'] };
const NOTHING: BertCharacter = { parts: [], kinds: [] };

const CONTROL = /^[\p{Cc}\p{Cf}\p{Co}\p{Cs}]$/u;
const WHITE_SPACE = /^\p{White_Space}$/u;
// Four code points changed their category after Unicode 8; the reference didn't hear of it.
const NONSPACING_MARKS = /(?!\u{111c9})[\p{Mn}\u1734\u{1171e}]/gu;
const PUNCTUATION = /^[\p{P}!-/:-@[-`{-~\u166d\u{111c9}]$/u;

/**
 * Reads one code point. Works on code points alone, as the reference does: `toLowerCase` of a whole text
 * would turn a Greek capital sigma at a word's end into another letter.
 *
 * @see BertNormalizer and BertPreTokenizer of Hugging Face's `tokenizers` (Rust)
 */
export function readBertCharacter(codePoint: number): BertCharacter {
  if (codePoint === 0 || codePoint === 0xfffd) return NOTHING;
  const char = String.fromCodePoint(codePoint);
  if (codePoint === 9 || codePoint === 10 || codePoint === 13) return SPACE;
  if (isNewerCharacter(codePoint)) return { parts: [char.toLowerCase()], kinds: ['letter'] };
  if (CONTROL.test(char)) return NOTHING;
  if (WHITE_SPACE.test(char)) return SPACE;
  const alone = isIdeograph(codePoint);
  const parts: string[] = [];
  const kinds: ('letter' | 'space' | 'alone')[] = [];
  for (const stripped of char.normalize('NFD').replace(NONSPACING_MARKS, '')) {
    for (const part of stripped.toLowerCase()) {
      parts.push(part);
      kinds.push(alone || PUNCTUATION.test(part) ? 'alone' : WHITE_SPACE.test(part) ? 'space' : 'letter');
    }
  }
  return { parts, kinds };
}

/** The blocks that the reference sets apart by spaces. */
function isIdeograph(codePoint: number): boolean {
  return (
    (codePoint >= 0x4e00 && codePoint <= 0x9fff) ||
    (codePoint >= 0x3400 && codePoint <= 0x4dbf) ||
    (codePoint >= 0x20000 && codePoint <= 0x2a6df) ||
    (codePoint >= 0x2a700 && codePoint <= 0x2b73f) ||
    (codePoint >= 0x2b740 && codePoint <= 0x2b81f) ||
    (codePoint >= 0x2b920 && codePoint <= 0x2ceaf) ||
    (codePoint >= 0xf900 && codePoint <= 0xfaff) ||
    (codePoint >= 0x2f800 && codePoint <= 0x2fa1f)
  );
}
