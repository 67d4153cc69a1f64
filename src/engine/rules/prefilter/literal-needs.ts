import { type Clause, type ClausePlace, type PlacedClause, placeAfter, START } from './clause.js';
import { clauseWeight, shortestTexts, USELESS } from './clause-weight.js';
import { spaceRuns } from './symbols.js';

/** What a part of a pattern must hold. */
export interface Needs {
  /** The part matches nothing but these texts; then there is no more to say. */
  readonly exact: Clause | undefined;
  /** Texts with one of which every match begins. */
  readonly head: PlacedClause | undefined;
  /** Texts with one of which every match ends. */
  readonly tail: PlacedClause | undefined;
  /** What a match holds between them. */
  readonly clauses: readonly PlacedClause[];
  /** How long the part is. */
  readonly end: ClausePlace;
}

/** The texts that a part may be spelled out to. */
const MAX_EXACT = 300;
/** The texts that two parts with several texts each may be joined to. */
const MAX_JOINED = 32;
/** The same where one of the parts says nothing by itself. */
const MAX_SPELLED = 128;
/** The texts of a head or a tail. */
const MAX_HEADS = 300;
/** The texts that the first repetitions of a part may be spelled out to. */
const MAX_POWER = 64;

const NOTHING: Clause = [''];

export const needNothing = (end: ClausePlace): Needs => ({
  exact: undefined,
  head: undefined,
  tail: undefined,
  clauses: [],
  end,
});

export const needExactly = (exact: Clause, end: ClausePlace): Needs => ({ ...needNothing(end), exact });

/** All that a part must hold, in its order. */
export function clausesOf({ exact, head, tail, clauses, end }: Needs): readonly PlacedClause[] {
  if (exact) return [{ texts: exact, from: START, to: end }];
  return [...(head ? [head] : []), ...clauses, ...(tail ? [tail] : [])];
}

/** One of the options. */
export function chooseNeeds(options: readonly Needs[], end: ClausePlace): Needs {
  const exact = union(options.map((option) => option.exact));
  if (exact && exact.length <= MAX_EXACT) return needExactly(exact, end);
  const whole = (texts: Clause | undefined): PlacedClause | undefined => texts && { texts, from: START, to: end };
  const head = union(options.map((option) => option.exact ?? option.head?.texts));
  const tail = union(options.map((option) => option.exact ?? option.tail?.texts));
  const best = whole(union(options.map((option) => rarest(clausesOf(option)))));
  return {
    exact: undefined,
    head: head && head.length <= MAX_HEADS ? whole(head) : undefined,
    tail: tail && tail.length <= MAX_HEADS ? whole(tail) : undefined,
    clauses: best ? [best] : [],
    end,
  };
}

/** `of` at least `min` times, between two edges. */
export function repeatNeeds(of: Needs, min: number, [left, right]: readonly [string, string], end: ClausePlace): Needs {
  const nothing = needNothing(end);
  if (!of.exact) return { ...nothing, clauses: clausesOf(of).map(({ texts }) => ({ texts, from: START, to: end })) };
  let power = of.exact;
  for (let count = 1; count < min && power.length * of.exact.length <= MAX_POWER; count++) {
    power = product(power, of.exact);
  }
  if (power.length > MAX_HEADS) return { ...nothing, clauses: [{ texts: power, from: START, to: end }] };
  return {
    ...nothing,
    head: { texts: product([left], power), from: START, to: end },
    tail: { texts: product(power, [right]), from: START, to: end },
  };
}

/** One part after the other: what is exact is joined to longer texts as long as these don't get too many. */
export function joinNeeds(parts: readonly Needs[]): Needs {
  const closed: PlacedClause[] = [];
  let run: Clause = NOTHING;
  let from = START;
  let at = START;
  let isExact = true;
  for (const { exact, head, tail, clauses, end } of parts) {
    if (exact && fits(run, exact)) {
      run = product(run, exact);
    } else if (exact) {
      isExact = false;
      closed.push({ texts: run, from, to: at });
      run = exact;
      from = at;
    } else {
      isExact = false;
      const shifted = (clause: PlacedClause): PlacedClause => ({
        texts: clause.texts,
        from: placeAfter(at, clause.from),
        to: placeAfter(at, clause.to),
      });
      if (head && fits(run, head.texts)) {
        closed.push({ texts: product(run, head.texts), from, to: placeAfter(at, head.to) });
      } else {
        closed.push({ texts: run, from, to: at }, ...(head ? [shifted(head)] : []));
      }
      closed.push(...clauses.map(shifted));
      run = tail?.texts ?? NOTHING;
      from = placeAfter(at, tail ? tail.from : end);
    }
    at = placeAfter(at, end);
  }
  if (isExact && run.length <= MAX_EXACT) return needExactly(run, at);
  const [first, ...rest] = [...closed, { texts: run, from, to: at }];
  const last = rest.pop();
  return {
    exact: undefined,
    head: first && isTelling(first.texts) ? first : undefined,
    tail: last && isTelling(last.texts) ? last : undefined,
    clauses: rest.filter(({ texts }) => isTelling(texts)),
    end: at,
  };
}

/** Each text of one with each of the other, as the alphabet of `symbols.ts` sees them, so that equal ones are one. */
function product(lefts: Clause, rights: Clause): Clause {
  const all = new Set<string>();
  for (const left of lefts) for (const right of rights) all.add(spaceRuns(left + right));
  return [...all];
}

function fits(left: Clause, right: Clause): boolean {
  const size = left.length * right.length;
  if (size <= Math.max(left.length, right.length, MAX_JOINED)) return true;
  return size <= MAX_SPELLED && !(isTelling(left) && isTelling(right));
}

const isTelling = (texts: Clause): boolean => clauseWeight(shortestTexts(texts)) < USELESS;

/** The clause that is seen least; undefined when none rules out a text. */
function rarest(clauses: readonly PlacedClause[]): Clause | undefined {
  let best: Clause | undefined;
  let least = USELESS;
  for (const { texts } of clauses) {
    const short = shortestTexts(texts);
    const weight = clauseWeight(short);
    if (weight >= least) continue;
    best = short;
    least = weight;
  }
  return best;
}

/** Every text of some clauses; undefined when one of them isn't known. */
function union(clauses: readonly (Clause | undefined)[]): Clause | undefined {
  const all = new Set<string>();
  for (const clause of clauses) {
    if (!clause) return undefined;
    for (const text of clause) all.add(text);
  }
  return [...all];
}
