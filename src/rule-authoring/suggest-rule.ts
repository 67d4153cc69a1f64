import type { FamilyText } from '../evaluation/rows/split-rows.js';
import { draftRule, type RuleDraft } from './new-rule.js';
import { type SuggestedGram, wordGrams } from './suggest-grams.js';

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
