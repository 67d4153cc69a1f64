/** A run of words in a text, with its place. */
export interface WordGram {
  /** Small letters, words parted by one space. */
  readonly gram: string;
  /** UTF-16 code units. */
  readonly start: number;
  readonly end: number;
}

/** Words of a gram. */
const FEWEST = 2;
const MOST = 5;
/** Letters of a text that are read: a long host says no more, and costs. */
const MOST_LETTERS = 20_000;

/** Runs of 2 to 5 words with nothing but white space between them. Scripts without spaces give few. */
export function wordGrams(text: string): readonly WordGram[] {
  const words = [...text.slice(0, MOST_LETTERS).matchAll(/[\p{L}\p{M}\p{N}]+/gu)].map(({ 0: word, index }) => ({
    word: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }));
  const grams: WordGram[] = [];
  for (let first = 0; first < words.length; first++) {
    const { start, word } = words[first] as (typeof words)[number];
    let gram = word;
    for (let last = first + 1; last < Math.min(words.length, first + MOST); last++) {
      const before = words[last - 1] as (typeof words)[number];
      const next = words[last] as (typeof words)[number];
      if (!/^\s{1,4}$/.test(text.slice(before.end, next.start))) break;
      gram = `${gram} ${next.word}`;
      if (last - first + 1 >= FEWEST) grams.push({ gram, start, end: next.end });
    }
  }
  return grams;
}
