import { createHash } from 'node:crypto';
import { seededRandom } from '../metrics/bootstrap.js';
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

function withFamilies(rows: readonly LabelledText[]): readonly FamilyText[] {
  const families = nearDuplicates(rows);
  return rows.map((row, i) => ({ ...row, family: families[i] as number }));
}

/** Splits by family; `share` (0..1) of the families go to the second part. The same parts for the same seed. */
export function splitRows(rows: readonly LabelledText[], share: number, seed: number): SplitRows {
  const texts = withFamilies(rows);
  const random = seededRandom(seed);
  const sides = new Map<number, boolean>();
  for (const { family } of texts) if (!sides.has(family)) sides.set(family, random() < share);
  return {
    choose: texts.filter(({ family }) => !sides.get(family)),
    confirm: texts.filter(({ family }) => sides.get(family)),
    straddling: 0,
  };
}

/** Takes two given parts, without the texts of the second that have near duplicates in the first. */
export function givenSplit(choose: readonly LabelledText[], confirm: readonly LabelledText[]): SplitRows {
  const texts = withFamilies([...choose, ...confirm]);
  const first = texts.slice(0, choose.length);
  const known = new Set(first.map(({ family }) => family));
  const second = texts.slice(choose.length);
  const kept = second.filter(({ family }) => !known.has(family));
  return { choose: first, confirm: kept, straddling: second.length - kept.length };
}

/** How many texts to take. Absent: all. */
export interface RowLimits {
  readonly limit?: number | undefined;
  /** At most so many of each source and label. */
  readonly maxPerSource?: number | undefined;
}

function groupKey({ text }: LabelledText): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Texts chosen by the digest of their content: the same ones in each run, in the order they were given. */
export function chooseRows(
  texts: readonly LabelledText[],
  { limit, maxPerSource }: RowLimits,
): readonly LabelledText[] {
  if (limit === undefined && maxPerSource === undefined) return texts;
  const taken = new Map<string, number>();
  const chosen = texts
    .map((row, place) => ({ row, place, key: groupKey(row) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.place - b.place))
    .filter(({ row }) => {
      const group = `${row.source}\n${row.label}`;
      const count = (taken.get(group) ?? 0) + 1;
      taken.set(group, count);
      return maxPerSource === undefined || count <= maxPerSource;
    })
    .slice(0, limit);
  return chosen.sort((a, b) => a.place - b.place).map(({ row }) => row);
}
