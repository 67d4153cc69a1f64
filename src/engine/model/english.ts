/** English words that are frequent in any kind of text and rare in other languages with Latin letters (`was`, `will` and `on` are not). */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'the of and to is that for it you your with are this not by from have can if what but which any please should ' +
    'must when how all or they there would could than then them these those been were who out about more some other ' +
    'into only'
  ).split(' '),
);

/** Of the words, so many at least are common ones in English prose; in other languages hardly any are. */
const COMMON_SHARE = 0.08;
/** Of the letters, fewer are outside ASCII. */
const OTHER_LETTERS_SHARE = 0.05;

const WORDS = /\p{L}+/gu;

/**
 * Whether a text is plainly English. False for other languages, texts in two languages, romanised ones, and much that is no language,
 * such as code. True for a text without letters.
 */
export function isEnglish(text: string): boolean {
  const words = text.toLowerCase().match(WORDS) ?? [];
  let common = 0;
  let letters = 0;
  let others = 0;
  for (const word of words) {
    if (COMMON_WORDS.has(word)) common += 1;
    letters += word.length;
    for (let i = 0; i < word.length; i += 1) if (word.charCodeAt(i) > 0x7f) others += 1;
  }
  return common >= COMMON_SHARE * words.length && others <= OTHER_LETTERS_SHARE * letters;
}
