import { type AhoCorasick, buildAhoCorasick } from './aho-corasick.js';
import { createSymbolBuffer, encodeLiteral } from './alphabet.js';
import { type Alternative, maxDistance, type PositionedSet, type RequiredLiteralSet, START } from './literal-set.js';

/** The literals of many patterns, ready to be found in a text. Sets and literals go by number. */
export interface LiteralIndex {
  readonly automaton: AhoCorasick;
  /** By literal: the sets that contain it. */
  readonly setsByLiteral: PackedLists;
  /** Number of sets. */
  readonly sets: number;
}

/** Lists of numbers, one after the other: list n is `items[first[n]] .. items[first[n + 1] - 1]`. */
export interface PackedLists {
  readonly first: Int32Array;
  readonly items: Int32Array;
}

/** An alternative by the numbers of its sets. Distances are in UTF-16 code units; `UNBOUNDED` for no bound. */
export interface IndexedAlternative {
  /** The rarest set. */
  readonly trigger: number;
  /** Most that a match can begin before the end of a trigger literal, and end after it. */
  readonly before: number;
  readonly after: number;
  readonly nearby: readonly NearbySet[];
}

/** Another set of an alternative: its literal ends `minOffset` to `maxOffset` after that of the trigger. */
export interface NearbySet {
  readonly set: number;
  /** Most that a match can begin before the end of its literal. */
  readonly before: number;
  readonly minOffset: number;
  readonly maxOffset: number;
}

/** A whole number, unlike `Infinity`, so that it survives JSON and typed arrays. */
export const UNBOUNDED = 1_000_000_000;

/** A literal ends at the word boundary after it, which may lie outside the match. */
export const BOUNDARY_SLACK = 2;

/** Indexes the literals of patterns; gives each pattern's alternatives by number, in the order of `patterns`. */
export function indexLiterals(patterns: readonly (readonly Alternative[])[]): {
  readonly index: LiteralIndex;
  readonly alternatives: readonly (readonly IndexedAlternative[])[];
} {
  const literalNumbers = new Map<string, number>();
  const setNumbers = new Map<string, number>();
  const sets: (readonly number[])[] = [];
  const buffer = createSymbolBuffer(64);
  const numberLiteral = (literal: string): number => {
    const symbols = encodeLiteral(literal, buffer);
    const known = literalNumbers.get(symbols) ?? literalNumbers.size;
    literalNumbers.set(symbols, known);
    return known;
  };
  const numberSet = ({ literals }: PositionedSet): number => {
    const key = literals.join('\n');
    const known = setNumbers.get(key);
    if (known !== undefined) return known;
    setNumbers.set(key, sets.length);
    return sets.push([...new Set(literals.map(numberLiteral))]) - 1;
  };
  const alternatives = patterns.map((all) => all.map((alternative) => indexAlternative(alternative, numberSet)));

  // Short literals occur most often: numbered first, they share few cache lines.
  const rows = [...literalNumbers.keys()];
  const order = rows.map((_, literal) => literal);
  order.sort((a, b) => (rows[a] as string).length - (rows[b] as string).length || a - b);
  const renumbered = new Int32Array(rows.length);
  order.forEach((literal, number) => {
    renumbered[literal] = number;
  });
  const setsByLiteral: number[][] = rows.map(() => []);
  sets.forEach((literals, set) => {
    for (const literal of literals) setsByLiteral[renumbered[literal] as number]?.push(set);
  });
  const automaton = buildAhoCorasick(order.map((literal) => rows[literal] as string));
  return { index: { automaton, setsByLiteral: packLists(setsByLiteral), sets: sets.length }, alternatives };
}

/** Sets kept of an alternative besides its rarest. */
const MAX_NEARBY = 3;
/** A set more common than this rules out hardly any text. */
const MAX_FREQUENCY = 30;

function indexAlternative(
  { required, end }: Alternative,
  numberSet: (set: PositionedSet) => number,
): IndexedAlternative {
  const sorted = [...required].sort((a, b) => a.frequency - b.frequency);
  const [rarest, ...others] = sorted as [RequiredLiteralSet, ...RequiredLiteralSet[]];
  const selective = others.filter(({ frequency }) => frequency < MAX_FREQUENCY).slice(0, MAX_NEARBY);
  return {
    trigger: numberSet(rarest),
    before: bounded(maxDistance(START, rarest.to) + BOUNDARY_SLACK),
    after: bounded(maxDistance(rarest.from, end) + BOUNDARY_SLACK),
    nearby: selective.map((other) => {
      const set = numberSet(other);
      const before = bounded(maxDistance(START, other.to) + BOUNDARY_SLACK);
      const maxOffset = bounded(maxDistance(rarest.from, other.to) + BOUNDARY_SLACK);
      const minOffset = -bounded(maxDistance(other.from, rarest.to) + BOUNDARY_SLACK);
      if (isAfter(rarest, other)) return { set, before, minOffset: 0, maxOffset };
      if (isAfter(other, rarest)) return { set, before, minOffset, maxOffset: 0 };
      return { set, before, minOffset, maxOffset };
    }),
  };
}

const bounded = (length: number): number => Math.min(length, UNBOUNDED);

/** True when a match meets all of one set before the other. */
const isAfter = ({ to }: PositionedSet, { from }: PositionedSet): boolean =>
  from.unbounded > to.unbounded || (from.unbounded === to.unbounded && from.offset >= to.offset);

export function packLists(lists: readonly (readonly number[] | undefined)[]): PackedLists {
  const first = new Int32Array(lists.length + 1);
  for (let at = 0; at < lists.length; at++) first[at + 1] = (first[at] as number) + (lists[at]?.length ?? 0);
  return { first, items: Int32Array.from(lists.flatMap((list) => list ?? [])) };
}
