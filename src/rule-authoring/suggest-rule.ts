import type { FamilyText } from '../evaluation/rows/split-rows.js';
import { draftRule, type RuleDraft } from './new-rule.js';

const EXAMPLES = 3;
/** Letters kept on each side of an example's hit. */
const AROUND = 60;

const escapedPattern = (gram: string): string => {
  const start = /^\w/.test(gram) ? '\\b' : '{{wb}}';
  const end = /\w$/.test(gram) ? '\\b' : '{{we}}';
  return `${start}${gram}${end}`;
};

/** The text about a place, cut at spaces. */
const cutWindow = (text: string, start: number, end: number): string => {
  const from = start <= AROUND ? 0 : text.lastIndexOf(' ', start - AROUND) + 1;
  const to = text.length - end <= AROUND ? text.length : text.indexOf(' ', end + AROUND);
  return text.slice(from, to === -1 ? text.length : to).trim();
};

const positives = (missed: readonly FamilyText[], wanted: ReadonlySet<string>): RuleDraft['positive'] => {
  const found = new Map<string, { text: string; hit: string }>();
  for (const { text } of missed) {
    const gram = wordGrams(text).find((one) => wanted.has(one.gram));
    if (gram !== undefined && !found.has(gram.gram))
      found.set(gram.gram, { text: cutWindow(text, gram.start, gram.end), hit: text.slice(gram.start, gram.end) });
    if (found.size === EXAMPLES) break;
  }
  return [...found.values()];
};

const negatives = (benign: readonly FamilyText[], grams: readonly SuggestedGram[]): RuleDraft['negative'] => {
  const whole = new Set(grams.map(({ gram }) => gram));
  const words = new Set(grams.flatMap(({ gram }) => gram.split(' ')).filter((word) => word.length > 3));
  return benign
    .flatMap(({ text }) => {
      const match = [...text.slice(0, 4_000).matchAll(/[\p{L}\p{M}\p{N}]+/gu)].find(({ 0: word }) =>
        words.has(word.toLowerCase()),
      );
      if (match === undefined) return [];
      const shown = cutWindow(text, match.index, match.index + match[0].length);
      return wordGrams(shown).some(({ gram }) => whole.has(gram)) ? [] : [shown];
    })
    .filter((text, i, all) => all.indexOf(text) === i)
    .slice(0, EXAMPLES)
    .map((text) => ({ text, why: 'benign in the data' }));
};

/** Suggestions as the draft of one rule, in shadow, with examples out of the texts. Its author generalises and cuts it. */
export function suggestRule(
  id: string,
  grams: readonly SuggestedGram[],
  missed: readonly FamilyText[],
  benign: readonly FamilyText[],
): string {
  return draftRule({
    id,
    title: 'Suggested from missed attacks',
    description: 'Detects runs of words that missed attacks have and benign texts hardly.',
    score: 0.3,
    match: { any: grams.map(({ gram }) => escapedPattern(gram)) },
    positive: positives(missed, new Set(grams.map(({ gram }) => gram))),
    negative: negatives(benign, grams),
    notes: [
      'A draft by `portcullis rules suggest`: keep what is the attack, drop what is the topic, and write own examples.',
      ...grams.map(
        ({ gram, attacks, benign: alarms, logOdds }) =>
          `${gram}: ${attacks} missed attacks, ${alarms} benign, log-odds ${logOdds.toFixed(2)}`,
      ),
    ],
  });
}

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
