/** Texts of which every match holds at least one. Folded, in lower case, `EDGE` for a word's edge. */
export type Clause = readonly string[];

/**
 * How far from a match's start, at most, as `countedLength` counts: from the end of the last endless part before it on,
 * of which there are `stretch`.
 */
export interface ClausePlace {
  readonly stretch: number;
  readonly at: number;
}

/** A clause with the part of the match in which its text stands. */
export interface PlacedClause {
  readonly texts: Clause;
  readonly from: ClausePlace;
  readonly to: ClausePlace;
}

/** A clause that a pattern is told by. */
export interface WeighedClause extends PlacedClause {
  /** How common it is likely to be; see `clauseWeight`. */
  readonly weight: number;
}

/** One way in which a pattern can match: a match holds a text of each clause, and meets them in their order. */
export interface LiteralWay {
  readonly clauses: readonly WeighedClause[];
  readonly end: ClausePlace;
}

export const START: ClausePlace = { stretch: 0, at: 0 };

/** Where something lies that is `further` from `place`. */
export function placeAfter(place: ClausePlace, further: ClausePlace): ClausePlace {
  return further.stretch === 0
    ? { stretch: place.stretch, at: place.at + further.at }
    : { stretch: place.stretch + further.stretch, at: further.at };
}

/** The most that a text from one place to a later one counts; infinite with an endless part between them. */
export function mostBetween(from: ClausePlace, to: ClausePlace): number {
  return to.stretch === from.stretch ? to.at - from.at : Number.POSITIVE_INFINITY;
}
