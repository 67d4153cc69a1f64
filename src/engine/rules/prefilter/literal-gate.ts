import type { Span } from '../../span.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { Atom } from '../pattern/atoms.js';
import { type ScriptMask, scriptsIn } from '../pattern/scripts.js';
import { type LiteralWay, mostBetween, type PlacedClause, START, type WeighedClause } from './clause.js';
import { createLiteralPlaces, type LiteralPlaces } from './literal-places.js';
import { createMatchWindows } from './match-windows.js';
import { type RuleAlarm, tellingClauses } from './rule-alarm.js';
import { EDGES, ruleReach } from './rule-reach.js';

/** What the gate saw in one part of a text. */
export interface GateReading {
  /** Rules that may fire inside the part. */
  readonly near: readonly CompiledRule[];
  /** Rules that may fire from inside the part over its end. */
  readonly late: readonly CompiledRule[];
  /** Rules that may fire from before the part into it. */
  readonly early: readonly CompiledRule[];
  readonly generation: number;
  /** True when the part is the whole text. */
  readonly isWhole: boolean;
}

/** Where a part lies in its text: whether more text stands before and after it. */
export interface PartPlace {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/**
 * Says which rules may fire in a text, by the literals that their patterns need and by how far apart these may be.
 *
 * Safety guarantee: a rule that fires is never left out. `test/rules/fast-path.test.ts` proves it by comparing with
 * every pattern run alone.
 */
export interface LiteralGate {
  /** Reads the next part. Linear in the text, whatever the number of rules. */
  read(text: string, place: PartPlace): GateReading;
  /** False when an atom can't match in the parts since a reading. */
  mayMatch(atom: Atom, since: GateReading): boolean;
  /**
   * Where in a part an atom can match that wakes a rule, if the rule fires inside that part; `undefined` for nowhere.
   * `part` is the last one read or the one before it. UTF-16 code units of the part.
   */
  windowOf(atom: Atom, part: GateReading): Span | undefined;
  readonly literals: number;
}

/** Places of one alarm that are looked at in one part; with more, the rule is let through. */
const MAX_LOOKS = 24;

/**
 * Builds the gate of some rules. It keeps marks from part to part: one gate reads one text at a time, which holds as
 * scans are synchronous.
 */
export function buildLiteralGate(
  rules: readonly { readonly rule: CompiledRule; readonly alarm: RuleAlarm }[],
): LiteralGate {
  const places = createLiteralPlaces();
  const needs = new Map<Atom, readonly WayNeeds[]>();
  const needsOf = (atom: Atom): readonly WayNeeds[] => {
    const known = needs.get(atom);
    if (known) return known;
    const made = atom.literals.map((way) => wayNeeds(atom, way, places));
    needs.set(atom, made);
    return made;
  };
  const wakes: Wake[] = [];
  /** By literal: the wakes that are looked at when it is met. */
  const woken: number[][] = [];
  let atoms = 0;
  for (const { rule, alarm } of rules) {
    const others = rule.order.slice(1).flatMap((step) => {
      const atoms = rule.steps[step] as readonly Atom[];
      // An atom without literals may match anywhere.
      return atoms.some((atom) => atom.literals.length === 0) ? [] : [atoms.flatMap(needsOf)];
    });
    for (const atom of rule.steps.flat()) atoms = Math.max(atoms, atom.index + 1);
    for (const own of alarm.atoms.flatMap(needsOf)) {
      const [first, also = others.find((step) => step.length === 1)?.[0]?.ids[0] ?? first] = own.ids as [number];
      wakes.push({ rule, own, also, others, isOneStep: rule.steps.length === 1, reach: ruleReach(rule) });
      for (const literal of places.literalsOf(first)) {
        const known = woken[literal] ?? [];
        woken[literal] = known;
        known.push(wakes.length - 1);
      }
    }
  }
  const { order } = places.build((literal) => woken[literal] !== undefined);
  const alsoNeeded = Int32Array.from(wakes, ({ also }) => also);
  const wokenBy = packLists(order.map((literal) => woken[literal]));
  const windows = createMatchWindows(atoms);
  const ruleMarks = new Float64Array(rules.reduce((most, { rule }) => Math.max(most, rule.index + 1), 0));

  const isNear = (need: WayNeeds, scripts: ScriptMask, place: number, reach: number): boolean =>
    (need.atom.scripts & ~scripts) === 0 && need.ids.every((id) => places.isBetween(id, place - reach, place + reach));
  const ownIsNear = ({ others }: WayNeeds, place: number): boolean => {
    for (let i = 0; i < others.length; i++) {
      const { id, least, most } = others[i] as OtherClause;
      if (!places.isBetween(id, place + least, place + most)) return false;
    }
    return true;
  };

  /** What a rule needs is all there, before it is asked how near. */
  const isThere = ({ own, others }: Wake, scripts: ScriptMask, generation: number): boolean => {
    if ((own.atom.scripts & ~scripts) !== 0 || !allSeen(own.ids, generation)) return false;
    return others.every((step) => step.some(({ ids }) => allSeen(ids, generation)));
  };
  const allSeen = (ids: readonly number[], generation: number): boolean => {
    for (let i = 0; i < ids.length; i++) if (!places.seenSince(ids[i] as number, generation)) return false;
    return true;
  };
  /** True when what a rule needs is there near a place of the literal that may announce it; notes where. */
  const isMet = (wake: Wake, literal: number, scripts: ScriptMask, generation: number): boolean => {
    if (!isThere(wake, scripts, generation)) return false;
    const { own, others, reach } = wake;
    const { atom, before, after } = own;
    const count = places.countOf(literal);
    if (count > MAX_LOOKS || (own.ids.length === 1 && others.length === 0)) {
      windows.add(atom.index, places.placeOf(literal, 0) - before, places.placeOf(literal, count - 1) + after);
      return true;
    }
    let isAny = false;
    for (let i = 0; i < count; i++) {
      const place = places.placeOf(literal, i);
      if (!ownIsNear(own, place)) continue;
      if (!others.every((step) => step.some((need) => isNear(need, scripts, place, reach)))) continue;
      windows.add(atom.index, place - before, place + after);
      isAny = true;
    }
    return isAny;
  };

  return {
    literals: order.length,
    read(text, { isFirst, isLast }) {
      const { generation, touched, end: counted, skips, isForeign } = places.read(text);
      windows.open(generation, text.length, skips);
      const scripts = isForeign ? scriptsIn(text) : 0;
      const near: CompiledRule[] = [];
      const late = new Set<CompiledRule>();
      const early = new Set<CompiledRule>();
      const isPart = !isFirst || !isLast;
      for (const literal of touched) {
        const count = places.countOf(literal);
        const isFlood = count > MAX_LOOKS;
        const end = wokenBy.first[literal + 1] as number;
        for (let at = wokenBy.first[literal] as number; at < end; at++) {
          const number = wokenBy.items[at] as number;
          const isAlone = !places.seenSince(alsoNeeded[number] as number, generation);
          if (isAlone && !isPart) continue;
          const wake = wakes[number] as Wake;
          const { rule, isOneStep, reach } = wake;
          if (!isAlone && isMet(wake, literal, scripts, generation) && ruleMarks[rule.index] !== generation) {
            ruleMarks[rule.index] = generation;
            near.push(rule);
          }
          // A rule of one step fires inside the part or not at all.
          if (!isPart || isOneStep) continue;
          if (!isFirst && (isFlood || places.placeOf(literal, 0) < reach)) early.add(rule);
          if (!isLast && (isFlood || places.placeOf(literal, count - 1) + reach > counted)) late.add(rule);
        }
      }
      return { near, late: [...late], early: [...early], generation, isWhole: !isPart };
    },
    mayMatch(atom, { generation }) {
      const ways = needs.get(atom);
      return !ways || ways.length === 0 || ways.some(({ ids }) => allSeen(ids, generation));
    },
    windowOf(atom, { generation }) {
      const ways = needs.get(atom);
      return windows.of(atom.index, generation, !ways || ways.length === 0);
    },
  };
}

/** Lists by number, one after the other: those of `n` are `items[first[n]] .. items[first[n + 1] - 1]`. */
function packLists(lists: readonly (readonly number[] | undefined)[]): PackedLists {
  const first = new Int32Array(lists.length + 1);
  for (let at = 0; at < lists.length; at++) first[at + 1] = (first[at] as number) + (lists[at]?.length ?? 0);
  return { first, items: Int32Array.from(lists.flatMap((list) => list ?? [])) };
}

interface PackedLists {
  readonly first: Int32Array;
  readonly items: Int32Array;
}

/** What must be seen for an atom to match in one of its ways. */
interface WayNeeds {
  readonly atom: Atom;
  /** The clauses, the rarest first. */
  readonly ids: readonly number[];
  /** All but the rarest. */
  readonly others: readonly OtherClause[];
  /** How far before a place of the rarest clause a match may begin, and how far after it end. */
  readonly before: number;
  readonly after: number;
}

/** A clause, and how far after a place of the rarest one its text must end; before it where that is negative. */
interface OtherClause {
  readonly id: number;
  readonly least: number;
  readonly most: number;
}

function wayNeeds(atom: Atom, way: LiteralWay, places: LiteralPlaces): WayNeeds {
  const [rarest, ...others] = tellingClauses(way) as readonly [WeighedClause, ...WeighedClause[]];
  return {
    atom,
    ids: [rarest, ...others].map(({ texts }) => places.idOf(texts)),
    others: others.map((other) => {
      const id = places.idOf(other.texts);
      if (isAfter(rarest, other)) return { id, least: 0, most: mostBetween(rarest.from, other.to) + EDGES };
      if (isAfter(other, rarest)) return { id, least: -mostBetween(other.from, rarest.to) - EDGES, most: 0 };
      const [least, most] = [mostBetween(other.from, rarest.to), mostBetween(rarest.from, other.to)];
      return { id, least: -least - EDGES, most: most + EDGES };
    }),
    before: mostBetween(START, rarest.to) + EDGES,
    after: mostBetween(rarest.from, way.end) + EDGES,
  };
}

/** True when a match meets all of one clause before the other. */
const isAfter = ({ to }: PlacedClause, { from }: PlacedClause): boolean =>
  from.stretch > to.stretch || (from.stretch === to.stretch && from.at >= to.at);

/** A rule that a clause may announce, by a way of an atom of its alarm step. */
interface Wake {
  readonly rule: CompiledRule;
  readonly own: WayNeeds;
  /** A clause that must be seen too; the announcing one where there is no other. */
  readonly also: number;
  /** The ways of its other steps, but of those that need no literal. */
  readonly others: readonly (readonly WayNeeds[])[];
  readonly isOneStep: boolean;
  readonly reach: number;
}
