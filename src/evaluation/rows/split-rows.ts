import { seededRandom } from '../metrics/seeded-random.js';
import type { LabelledText } from './labelled-text.js';
import { nearDuplicates } from './near-duplicates.js';

/** A text with the number of its family: near duplicates and texts that belong together have the same. */
export interface FamilyText extends LabelledText {
  readonly family: number;
}

/** One part to choose on and one to confirm on. No family has texts in both. */
export interface SplitRows {
  readonly choose: readonly FamilyText[];
  readonly confirm: readonly FamilyText[];
  /** Texts of the second part left out, since near duplicates of theirs are in the first. */
  readonly straddling: number;
}

const withFamilies = (rows: readonly LabelledText[]): readonly FamilyText[] => {
  const families = nearDuplicates(rows);
  return rows.map((row, i) => ({ ...row, family: families[i] as number }));
};

/** Splits by family; `share` (0..1) of the families go to the second part. The same parts for the same seed. */
export const splitRows = (rows: readonly LabelledText[], share: number, seed: number): SplitRows => {
  const texts = withFamilies(rows);
  const random = seededRandom(seed);
  const sides = new Map<number, boolean>();
  for (const { family } of texts) if (!sides.has(family)) sides.set(family, random() < share);
  return {
    choose: texts.filter(({ family }) => !sides.get(family)),
    confirm: texts.filter(({ family }) => sides.get(family)),
    straddling: 0,
  };
};

/** Takes two parts as they are given, but for texts of the second that have kin in the first. */
export const givenSplit = (choose: readonly LabelledText[], confirm: readonly LabelledText[]): SplitRows => {
  const texts = withFamilies([...choose, ...confirm]);
  const first = texts.slice(0, choose.length);
  const known = new Set(first.map(({ family }) => family));
  const second = texts.slice(choose.length);
  const kept = second.filter(({ family }) => !known.has(family));
  return { choose: first, confirm: kept, straddling: second.length - kept.length };
};
