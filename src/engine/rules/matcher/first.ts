import type { CharClass } from './char-class.js';
import type { Expression } from './expression.js';

/** The beginnings of an expression's matches: code units, members of classes, or whatever follows where it may be empty. */
export interface First {
  readonly units: ReadonlySet<number>;
  readonly classes: readonly CharClass[];
  readonly empty: boolean;
}

/** Nothing is known. */
export const ANYTHING: First = { units: new Set(), classes: [], empty: true };

const NOTHING: First = { units: new Set(), classes: [], empty: false };

const known = new WeakMap<Expression, First>();

export function findFirst(node: Expression): First {
  let first = known.get(node);
  if (!first) {
    first = compute(node);
    known.set(node, first);
  }
  return first;
}

function compute(node: Expression): First {
  switch (node.kind) {
    case 'text':
      return { units: new Set([node.text.charCodeAt(0)]), classes: [], empty: false };
    case 'class':
      return { units: new Set(), classes: [node.of], empty: false };
    case 'choice':
      return joinAll(node.options.map(findFirst));
    case 'repeat': {
      const first = findFirst(node.of);
      return node.min === 0 ? { ...first, empty: true } : first;
    }
    case 'sequence':
      return firstOf(node.parts, 0, ANYTHING);
    default:
      return ANYTHING;
  }
}

/** Finds the beginnings of the parts from an index on, and of what follows them. */
export function firstOf(parts: readonly Expression[], from: number, follow: First): First {
  const seen: First[] = [];
  for (let i = from; i < parts.length; i++) {
    const first = findFirst(parts[i] as Expression);
    if (!first.empty && seen.length === 0) return first;
    seen.push(first);
    if (!first.empty) return { ...join(seen), empty: false };
  }
  if (seen.length === 0) return follow;
  return { ...join([...seen, follow]), empty: follow.empty };
}

/**
 * Finds the characters that can come behind an ASCII one that begins a match of an expression; none where it begins no match. `empty` where the expression
 * may end there, so that what follows it comes next.
 */
export function findSecond(node: Expression, unit: number): First {
  switch (node.kind) {
    case 'text':
      if (node.text.charCodeAt(0) !== unit) return NOTHING;
      return node.text.length === 1
        ? ANYTHING
        : { units: new Set([node.text.charCodeAt(1)]), classes: [], empty: false };
    case 'class':
      return holds(node.of, unit) ? ANYTHING : NOTHING;
    case 'choice':
      return joinAll(node.options.map((option) => findSecond(option, unit)));
    case 'repeat': {
      const second = findSecond(node.of, unit);
      return second.empty && node.max > 1 ? joinAll([second, findFirst(node.of)]) : second;
    }
    case 'sequence':
      return secondOf(node.parts, unit);
    default:
      return NOTHING;
  }
}

function secondOf(parts: readonly Expression[], unit: number): First {
  const seconds: First[] = [];
  for (const [at, part] of parts.entries()) {
    const second = findSecond(part, unit);
    const rest = second.empty ? firstOf(parts, at + 1, ANYTHING) : NOTHING;
    seconds.push({ ...join([second, rest]), empty: rest.empty });
    if (!findFirst(part).empty) break;
  }
  return joinAll(seconds);
}

function joinAll(firsts: readonly First[]): First {
  return { ...join(firsts), empty: firsts.some(({ empty }) => empty) };
}

export function join(firsts: readonly First[]): Omit<First, 'empty'> {
  const units = new Set<number>();
  const classes = new Set<CharClass>();
  for (const first of firsts) {
    for (const unit of first.units) units.add(unit);
    for (const one of first.classes) classes.add(one);
  }
  return { units, classes: [...classes] };
}

export function mayBegin({ units, classes, empty }: First, unit: number): boolean {
  return empty || units.has(unit) || classes.some((one) => holds(one, unit));
}

function holds({ ascii, hasBeyond }: CharClass, unit: number): boolean {
  return unit < 0x80 ? ascii[unit] === 1 : (unit & 0xf800) === 0xd800 || hasBeyond(unit);
}

/** True when nothing that begins so is a member of the class. */
export function isApart({ units, classes, empty }: First, of: CharClass): boolean {
  if (empty) return false;
  for (const unit of units) if (holds(of, unit)) return false;
  return classes.every(
    (one) =>
      (!one.mayBeBeyond || !of.mayBeBeyond) && one.ascii.every((member, unit) => member === 0 || of.ascii[unit] === 0),
  );
}
