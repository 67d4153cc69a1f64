import { foldText } from './fold-text.js';

const privateUse = 0xe000;
const privateUses = 6400;
/** More of them make a query dearer than they make it finer. */
const mostTrigrams = 8;

/** A stretch's number as one trigram that no text has: a query then reads what the index has of this stretch alone. */
export const stretchMark = (stretch: number): string =>
  String.fromCharCode(
    privateUse + (Math.floor(stretch / privateUses ** 2) % privateUses),
    privateUse + (Math.floor(stretch / privateUses) % privateUses),
    privateUse + (stretch % privateUses),
  );

/** Some of a text's trigrams, spread evenly over it. */
const trigramsOf = (text: string): readonly string[] => {
  const points = [...foldText(text)];
  const all = [...new Set(points.slice(2).map((last, at) => `${points[at]}${points[at + 1]}${last}`))];
  if (all.length <= mostTrigrams) return all;
  const step = (all.length - 1) / (mostTrigrams - 1);
  return Array.from({ length: mostTrigrams }, (_, at) => all[Math.round(at * step)] ?? '');
};

/** Of a stretch of the index. */
export interface Spread {
  readonly id: number;
  readonly late: number;
  readonly records: number;
  readonly first: number;
  readonly last: number;
}

/** Where others' records lie between those of a stretch, a walk goes through them too. */
const mostBetween = 4;

/**
 * The query for records of a stretch that may have a text: those with some trigrams of it, wherever they stand. What it finds is
 * still to be compared. Of a stretch that lies scattered among others' records all are found: to read them costs less.
 */
export const searchQuery = ({ id, late, records, first, last }: Spread, text: string): string => {
  const scattered = late === 1 || last - first >= mostBetween * records;
  return [stretchMark(id), ...(scattered ? [] : trigramsOf(text))]
    .map((it) => `"${it.replaceAll('"', '""')}"`)
    .join(' AND ');
};
