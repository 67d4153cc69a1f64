import type { FamilyText } from '../evaluation/rows/split-rows.js';

/** A run of words that missed attacks have and benign texts hardly. Counts are of families: near duplicates count once. */
export interface SuggestedGram {
  readonly gram: string;
  readonly attacks: number;
  readonly benign: number;
  /** Families of missed attacks that no suggestion before it has. */
  readonly fresh: number;
  /** Natural logarithm of the ratio of odds, half a family added to each count. */
  readonly logOdds: number;
  /** That over its standard error. */
  readonly z: number;
}

/** What a suggestion must bring. */
export interface SuggestLimits {
  /** Suggestions at most. */
  readonly top: number;
  /** Families of missed attacks at least. */
  readonly least: number;
  /** Share of the benign families at most, 0..1. */
  readonly maxFpr: number;
}

const familiesByGram = (texts: readonly FamilyText[], known?: ReadonlySet<string>): Map<string, Set<number>> => {
  const found = new Map<string, Set<number>>();
  for (const { text, family } of texts)
    for (const { gram } of wordGrams(text)) {
      if (known !== undefined && !known.has(gram)) continue;
      const families = found.get(gram);
      if (families) families.add(family);
      else found.set(gram, new Set([family]));
    }
  return found;
};

const countFamilies = (texts: readonly FamilyText[]): number => new Set(texts.map(({ family }) => family)).size;

/** Log-odds of a gram among attacks against benign texts, and its z. */
const computeOdds = (
  attacks: number,
  ofAttacks: number,
  benign: number,
  ofBenign: number,
): Pick<SuggestedGram, 'logOdds' | 'z'> => {
  const [a, b, c, d] = [attacks + 0.5, ofAttacks - attacks + 0.5, benign + 0.5, ofBenign - benign + 0.5];
  const logOdds = Math.log((a * d) / (b * c));
  return { logOdds, z: logOdds / Math.sqrt(1 / a + 1 / b + 1 / c + 1 / d) };
};

/**
 * Runs of words that tell missed attacks from benign texts, each time the one that adds most attacks that none before
 * it has. O(letters), and as much memory as the missed attacks have distinct runs.
 */
export function suggestGrams(
  missed: readonly FamilyText[],
  benign: readonly FamilyText[],
  { top, least, maxFpr }: SuggestLimits,
): readonly SuggestedGram[] {
  const [attackFamilies, benignFamilies] = [countFamilies(missed), countFamilies(benign)];
  const inAttacks = [...familiesByGram(missed)].filter(([, families]) => families.size >= least);
  const inBenign = familiesByGram(benign, new Set(inAttacks.map(([gram]) => gram)));
  const open = inAttacks
    .map(([gram, families]) => {
      const alarms = inBenign.get(gram)?.size ?? 0;
      return {
        gram,
        families,
        attacks: families.size,
        benign: alarms,
        ...computeOdds(families.size, attackFamilies, alarms, benignFamilies),
      };
    })
    .filter(({ benign: alarms, z }) => alarms <= maxFpr * benignFamilies && z > 0);
  const covered = new Set<number>();
  const chosen: SuggestedGram[] = [];
  while (chosen.length < top) {
    const ranked = open
      .map((one) => ({ ...one, fresh: [...one.families].filter((family) => !covered.has(family)).length }))
      .filter(({ fresh }) => fresh >= least)
      // Of equals the longer one: it says more, and raises fewer alarms elsewhere.
      .sort(
        (a, b) =>
          b.fresh - a.fresh || a.benign - b.benign || b.gram.length - a.gram.length || (a.gram < b.gram ? -1 : 1),
      );
    const [best] = ranked;
    if (best === undefined) break;
    const { families, ...gram } = best;
    for (const family of families) covered.add(family);
    chosen.push(gram);
  }
  return chosen;
}

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
