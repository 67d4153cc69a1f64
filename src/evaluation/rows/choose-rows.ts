import { createHash } from 'node:crypto';
import type { LabelledText } from './labelled-text.js';

/** How many texts to take. Absent: all. */
export interface RowLimits {
  readonly limit?: number | undefined;
  /** At most so many of each source and label. */
  readonly per?: number | undefined;
}

const keyOf = ({ text }: LabelledText): string => createHash('sha256').update(text).digest('hex');

/** Texts chosen by the digest of their content: the same ones in each run, in the order they were given. */
export const chooseRows = (texts: readonly LabelledText[], { limit, per }: RowLimits): readonly LabelledText[] => {
  if (limit === undefined && per === undefined) return texts;
  const taken = new Map<string, number>();
  const chosen = texts
    .map((row, place) => ({ row, place, key: keyOf(row) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.place - b.place))
    .filter(({ row }) => {
      const group = `${row.source}\n${row.label}`;
      const count = (taken.get(group) ?? 0) + 1;
      taken.set(group, count);
      return per === undefined || count <= per;
    })
    .slice(0, limit);
  return chosen.sort((a, b) => a.place - b.place).map(({ row }) => row);
};
