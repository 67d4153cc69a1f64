import { collapseSpaces } from './alphabet.js';
import {
  advance,
  estimateFrequency,
  type LiteralSet,
  minimize,
  type Position,
  type PositionedSet,
  START,
  TOO_COMMON,
} from './literal-set.js';

/** The known literals of a part of a pattern; RE2 calls it `Prefilter::Info`. */
export interface LiteralInfo {
  /** The part matches exactly these literals and nothing else; then the other fields are empty. */
  readonly exact: LiteralSet | undefined;
  /** Every match begins with one of these. */
  readonly prefix: PositionedSet | undefined;
  /** Every match ends with one of these. */
  readonly suffix: PositionedSet | undefined;
  /** Sets of which a match contains a literal in between. */
  readonly inner: readonly PositionedSet[];
  /** End of the part. */
  readonly end: Position;
}

/** Literals of an exact set, at most. */
const MAX_EXACT = 300;
/** Literals of a product of two sets with several literals each, at most. */
const MAX_JOINED = 32;
/** The same where one of the sets is too common by itself. */
const MAX_JOINED_COMMON = 128;
/** Literals of a prefix or a suffix, at most. */
const MAX_AFFIXES = 300;
/** Literals that the first repetitions of a part are expanded to, at most. */
const MAX_REPEATED = 64;

const EMPTY: LiteralSet = [''];

export function matchAnything(end: Position): LiteralInfo {
  return {
    exact: undefined,
    prefix: undefined,
    suffix: undefined,
    inner: [],
    end,
  };
}

export function matchExactly(exact: LiteralSet, end: Position): LiteralInfo {
  return { ...matchAnything(end), exact };
}

/** All sets of a part, in their order. */
export function listSets({ exact, prefix, suffix, inner, end }: LiteralInfo): readonly PositionedSet[] {
  if (exact) return [{ literals: exact, from: START, to: end }];
  return [...(prefix ? [prefix] : []), ...inner, ...(suffix ? [suffix] : [])];
}

/** The info of `a|b|...`. */
export function alternate(options: readonly LiteralInfo[], end: Position): LiteralInfo {
  const exact = union(options.map((option) => option.exact));
  if (exact && exact.length <= MAX_EXACT) return matchExactly(exact, end);
  const whole = (literals: LiteralSet | undefined): PositionedSet | undefined =>
    literals && { literals, from: START, to: end };
  const prefix = union(options.map((option) => option.exact ?? option.prefix?.literals));
  const suffix = union(options.map((option) => option.exact ?? option.suffix?.literals));
  const best = whole(union(options.map((option) => rarest(listSets(option)))));
  return {
    exact: undefined,
    prefix: prefix && prefix.length <= MAX_AFFIXES ? whole(prefix) : undefined,
    suffix: suffix && suffix.length <= MAX_AFFIXES ? whole(suffix) : undefined,
    inner: best ? [best] : [],
    end,
  };
}

/** The info of `of` repeated at least `min` times, between two word boundaries. */
export function repeat(
  of: LiteralInfo,
  min: number,
  [left, right]: readonly [string, string],
  end: Position,
): LiteralInfo {
  const nothing = matchAnything(end);
  if (!of.exact) return { ...nothing, inner: listSets(of).map(({ literals }) => ({ literals, from: START, to: end })) };
  let repeated = of.exact;
  for (let count = 1; count < min && repeated.length * of.exact.length <= MAX_REPEATED; count++) {
    repeated = product(repeated, of.exact);
  }
  if (repeated.length > MAX_AFFIXES) return { ...nothing, inner: [{ literals: repeated, from: START, to: end }] };
  return {
    ...nothing,
    prefix: { literals: product([left], repeated), from: START, to: end },
    suffix: { literals: product(repeated, [right]), from: START, to: end },
  };
}

/** The info of `ab...`: exact sets are joined to longer literals while their number stays small. */
export function concatenate(parts: readonly LiteralInfo[]): LiteralInfo {
  const closed: PositionedSet[] = [];
  let run: LiteralSet = EMPTY;
  let from = START;
  let at = START;
  let isExact = true;
  for (const { exact, prefix, suffix, inner, end } of parts) {
    if (exact && fits(run, exact)) {
      run = product(run, exact);
    } else if (exact) {
      isExact = false;
      closed.push({ literals: run, from, to: at });
      run = exact;
      from = at;
    } else {
      isExact = false;
      const shifted = (set: PositionedSet): PositionedSet => ({
        literals: set.literals,
        from: advance(at, set.from),
        to: advance(at, set.to),
      });
      if (prefix && fits(run, prefix.literals)) {
        closed.push({ literals: product(run, prefix.literals), from, to: advance(at, prefix.to) });
      } else {
        closed.push({ literals: run, from, to: at }, ...(prefix ? [shifted(prefix)] : []));
      }
      closed.push(...inner.map(shifted));
      run = suffix?.literals ?? EMPTY;
      from = advance(at, suffix ? suffix.from : end);
    }
    at = advance(at, end);
  }
  if (isExact && run.length <= MAX_EXACT) return matchExactly(run, at);
  const [first, ...rest] = [...closed, { literals: run, from, to: at }];
  const last = rest.pop();
  return {
    exact: undefined,
    prefix: first && isSelective(first.literals) ? first : undefined,
    suffix: last && isSelective(last.literals) ? last : undefined,
    inner: rest.filter(({ literals }) => isSelective(literals)),
    end: at,
  };
}

/** Each literal of one set followed by each of the other, as the alphabet sees them, so that duplicates fall together. */
function product(lefts: LiteralSet, rights: LiteralSet): LiteralSet {
  const all = new Set<string>();
  for (const left of lefts) for (const right of rights) all.add(collapseSpaces(left + right));
  return [...all];
}

function fits(left: LiteralSet, right: LiteralSet): boolean {
  const size = left.length * right.length;
  if (size <= Math.max(left.length, right.length, MAX_JOINED)) return true;
  return size <= MAX_JOINED_COMMON && !(isSelective(left) && isSelective(right));
}

const isSelective = (literals: LiteralSet): boolean => estimateFrequency(minimize(literals)) < TOO_COMMON;

/** The set that is least common; undefined when all are too common. */
function rarest(sets: readonly PositionedSet[]): LiteralSet | undefined {
  let best: LiteralSet | undefined;
  let least = TOO_COMMON;
  for (const { literals } of sets) {
    const short = minimize(literals);
    const frequency = estimateFrequency(short);
    if (frequency >= least) continue;
    best = short;
    least = frequency;
  }
  return best;
}

/** All literals of some sets; undefined when one of the sets isn't known. */
function union(sets: readonly (LiteralSet | undefined)[]): LiteralSet | undefined {
  const all = new Set<string>();
  for (const set of sets) {
    if (!set) return undefined;
    for (const literal of set) all.add(literal);
  }
  return [...all];
}
