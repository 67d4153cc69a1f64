import type { Span } from '../span.js';
import type { Atom } from './atoms.js';
import type { CompiledRule } from './compiled-rule.js';
import { createLiteralPlaces } from './literal-places.js';
import { createMatchWindows } from './match-windows.js';
import { type RuleAlarm, tellingClauses } from './rule-alarm.js';
import { EDGES, ruleReach } from './rule-reach.js';
import { type ScriptMask, scriptsIn } from './scripts.js';

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
  const needs = new Map<Atom, AtomNeeds>();
  const needsOf = (atom: Atom): AtomNeeds => {
    const known = needs.get(atom);
    if (known) return known;
    const telling = tellingClauses(atom).map(({ clause, order }) => ({ id: places.idOf(clause), order }));
    const made = { atom, telling, ids: telling.map(({ id }) => id), reach: atom.counted + EDGES };
    needs.set(atom, made);
    return made;
  };
  /** By literal: what is looked at when it is met. */
  const wakes: Wake[][] = [];
  let atoms = 0;
  for (const { rule, alarm } of rules) {
    const others = rule.order.slice(1).map((step) => (rule.steps[step] as readonly Atom[]).map(needsOf));
    for (const atom of rule.steps.flat()) atoms = Math.max(atoms, atom.index + 1);
    for (const atom of alarm.atoms) {
      const own = needsOf(atom);
      const wake = { rule, own, others, reach: ruleReach(rule) };
      for (const literal of places.literalsOf(own.ids[0] as number)) {
        const known = wakes[literal] ?? [];
        wakes[literal] = known;
        known.push(wake);
      }
    }
  }
  const index = places.build();
  const windows = createMatchWindows(atoms);
  const ruleMarks = new Float64Array(rules.reduce((most, { rule }) => Math.max(most, rule.index + 1), 0));

  const isNear = (need: AtomNeeds, scripts: ScriptMask, place: number, reach: number): boolean =>
    (need.atom.scripts & ~scripts) === 0 && need.ids.every((id) => places.isBetween(id, place - reach, place + reach));
  const ownIsNear = ({ telling, reach }: AtomNeeds, place: number): boolean => {
    const first = (telling[0] as Telling).order;
    for (let i = 1; i < telling.length; i++) {
      const { id, order } = telling[i] as Telling;
      const isLater = order > first;
      if (!places.isBetween(id, isLater ? place : place - reach, isLater ? place + reach : place)) return false;
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
    const { atom } = own;
    const count = places.countOf(literal);
    if (count > MAX_LOOKS || (own.ids.length === 1 && others.length === 0)) {
      windows.add(atom.index, places.placeOf(literal, 0) - own.reach, places.placeOf(literal, count - 1) + own.reach);
      return true;
    }
    let isAny = false;
    for (let i = 0; i < count; i++) {
      const place = places.placeOf(literal, i);
      if (!ownIsNear(own, place)) continue;
      if (!others.every((step) => step.some((need) => isNear(need, scripts, place, reach)))) continue;
      windows.add(atom.index, place - own.reach, place + own.reach);
      isAny = true;
    }
    return isAny;
  };

  return {
    literals: index.literals,
    read(text, { isFirst, isLast }) {
      const { generation, touched, end, skips, isForeign } = places.read(text);
      windows.open(generation, text.length, skips);
      const scripts = isForeign ? scriptsIn(text) : 0;
      const near: CompiledRule[] = [];
      const late = new Set<CompiledRule>();
      const early = new Set<CompiledRule>();
      const isPart = !isFirst || !isLast;
      for (const literal of touched) {
        const count = places.countOf(literal);
        const isFlood = count > MAX_LOOKS;
        for (const wake of wakes[literal] ?? NO_WAKES) {
          const { rule, others, reach } = wake;
          if (isMet(wake, literal, scripts, generation) && ruleMarks[rule.index] !== generation) {
            ruleMarks[rule.index] = generation;
            near.push(rule);
          }
          // A rule of one step fires inside the part or not at all.
          if (!isPart || others.length === 0) continue;
          if (!isFirst && (isFlood || places.placeOf(literal, 0) < reach)) early.add(rule);
          if (!isLast && (isFlood || places.placeOf(literal, count - 1) + reach > end)) late.add(rule);
        }
      }
      return { near, late: [...late], early: [...early], generation, isWhole: !isPart };
    },
    mayMatch(atom, { generation }) {
      const need = needs.get(atom);
      return !need || need.ids.every((clause) => places.seenSince(clause, generation));
    },
    windowOf(atom, { generation }) {
      const need = needs.get(atom);
      return windows.of(atom.index, generation, !need || need.ids.length === 0);
    },
  };
}

const NO_WAKES: readonly Wake[] = [];

interface Telling {
  readonly id: number;
  /** The clause's place in the order in which a match meets them. */
  readonly order: number;
}

/** What must be seen for an atom to match. */
interface AtomNeeds {
  readonly atom: Atom;
  /** Its rarest clause first. */
  readonly telling: readonly Telling[];
  readonly ids: readonly number[];
  readonly reach: number;
}

/** A rule that a clause may announce, by an atom of its alarm step. */
interface Wake {
  readonly rule: CompiledRule;
  readonly own: AtomNeeds;
  /** The atoms of its other steps. */
  readonly others: readonly (readonly AtomNeeds[])[];
  readonly reach: number;
}
