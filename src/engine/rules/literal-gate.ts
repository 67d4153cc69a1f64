import type { Atom } from './atoms.js';
import type { CompiledRule } from './compiled-rule.js';
import { createLiteralPlaces } from './literal-places.js';
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
  /**
   * False when an atom can't match in the parts since a reading. `isInside`: the atom is of the step that wakes its
   * rule, and the rule can't reach over the part's edges; then the literals' distances count too.
   */
  mayMatch(atom: Atom, since: GateReading, isInside: boolean): boolean;
  readonly literals: number;
  readonly states: number;
}

const FOREIGN = /[^\0-\x7f]/;
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
  const automaton = places.build();
  const nearMarks = new Float64Array(atoms);

  const isNear = (need: AtomNeeds, scripts: ScriptMask, place: number, reach: number): boolean =>
    (need.atom.scripts & ~scripts) === 0 && need.ids.every((id) => places.isBetween(id, place - reach, place + reach));
  const ownIsNear = ({ telling, reach, atom }: AtomNeeds, scripts: ScriptMask, place: number): boolean => {
    if ((atom.scripts & ~scripts) !== 0) return false;
    const [alarm, ...rest] = telling;
    return rest.every(({ id, order }) =>
      order > (alarm as Telling).order
        ? places.isBetween(id, place, place + reach)
        : places.isBetween(id, place - reach, place),
    );
  };

  return {
    literals: automaton.literals,
    states: automaton.states,
    read(text, { isFirst, isLast }) {
      const { generation, touched, end } = places.read(text);
      const scripts = FOREIGN.test(text) ? scriptsIn(text) : 0;
      const near = new Set<CompiledRule>();
      const late = new Set<CompiledRule>();
      const early = new Set<CompiledRule>();
      for (const literal of touched) {
        const at = places.placesOf(literal);
        for (const { rule, own, others, reach } of wakes[literal] ?? []) {
          const isFlood = at.length > MAX_LOOKS;
          let isMet = isFlood;
          for (let i = 0; i < at.length && !isMet; i++) {
            const place = at[i] as number;
            isMet =
              ownIsNear(own, scripts, place) &&
              others.every((step) => step.some((need) => isNear(need, scripts, place, reach)));
          }
          if (isMet) {
            near.add(rule);
            nearMarks[own.atom.index] = generation;
          }
          // A rule of one step fires inside the part or not at all.
          if (others.length === 0) continue;
          if (!isFirst && ((at[0] as number) < reach || isFlood)) early.add(rule);
          if (!isLast && ((at.at(-1) as number) + reach > end || isFlood)) late.add(rule);
        }
      }
      return { near: [...near], late: [...late], early: [...early], generation, isWhole: isFirst && isLast };
    },
    mayMatch(atom, { generation }, isInside) {
      const need = needs.get(atom);
      if (!need || need.ids.length === 0) return true;
      if (isInside) return (nearMarks[atom.index] as number) >= generation;
      return need.ids.every((clause) => places.seenSince(clause, generation));
    },
  };
}

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
