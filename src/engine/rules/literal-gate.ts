import type { Atom } from './atoms.js';
import { createClausePlaces } from './clause-places.js';
import type { CompiledRule } from './compiled-rule.js';
import { type RuleAlarm, tellingClauses } from './rule-alarm.js';
import { ruleReach } from './rule-reach.js';
import { scriptsIn } from './scripts.js';

/** What the gate saw in one part of a text. */
export interface GateReading {
  /** Rules that may fire inside the part. */
  readonly near: readonly CompiledRule[];
  /** Rules that may fire from inside the part over its end. */
  readonly late: readonly CompiledRule[];
  /** Rules that may fire from before the part into it. */
  readonly early: readonly CompiledRule[];
  readonly generation: number;
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
  /** False when an atom can't match in the parts read since a generation. */
  mayMatch(atom: Atom, since: number): boolean;
  readonly literals: number;
  readonly states: number;
}

/** Places of one alarm that are looked at in one part; then the rule is let through. */
const MAX_LOOKS = 24;

/**
 * Builds the gate of some rules. It keeps marks from part to part: one gate reads one text at a time, which holds as
 * scans are synchronous.
 */
export function buildLiteralGate(
  rules: readonly { readonly rule: CompiledRule; readonly alarm: RuleAlarm }[],
): LiteralGate {
  const places = createClausePlaces();
  const clauses = new Map<Atom, readonly number[]>();
  const alarms = rules.map(({ rule, alarm }) => {
    for (const atom of rule.steps.flat()) {
      if (!clauses.has(atom)) clauses.set(atom, tellingClauses(atom).map(places.idOf));
    }
    const ids = [...new Set(alarm.clauses.map(places.idOf))];
    const steps = rule.steps.map((atoms) =>
      atoms.map((atom) => ({ clauses: clauses.get(atom) as readonly number[], scripts: atom.scripts })),
    );
    return { rule, ids, steps, reach: ruleReach(rule) };
  });
  const automaton = places.build();
  const wakes: (readonly (typeof alarms)[number][])[] = [];
  for (const alarm of alarms) for (const id of alarm.ids) wakes[id] = [...(wakes[id] ?? []), alarm];

  return {
    literals: automaton.literals,
    states: automaton.states,
    read(text, { isFirst, isLast }) {
      const { generation, touched, end } = places.read(text);
      const scripts = scriptsIn(text);
      const near = new Set<CompiledRule>();
      const late = new Set<CompiledRule>();
      const early = new Set<CompiledRule>();
      for (const clause of touched) {
        for (const { rule, steps, reach } of wakes[clause] ?? []) {
          const at = places.placesOf(clause);
          const isFlood = at.length > MAX_LOOKS || reach === Number.POSITIVE_INFINITY;
          if (isFlood) near.add(rule);
          for (let i = 0; i < at.length && !isFlood && !near.has(rule); i++) {
            const place = at[i] as number;
            const isNear = (atom: { readonly clauses: readonly number[]; readonly scripts: number }): boolean =>
              (atom.scripts & ~scripts) === 0 && places.allNear(atom.clauses, place - reach, place + reach);
            if (steps.every((atoms) => atoms.some(isNear))) near.add(rule);
          }
          if (!isFirst && ((at[0] as number) < reach || isFlood)) early.add(rule);
          if (!isLast && ((at.at(-1) as number) + reach > end || isFlood)) late.add(rule);
        }
      }
      return { near: [...near], late: [...late], early: [...early], generation };
    },
    mayMatch: (atom, since) => (clauses.get(atom) ?? []).every((clause) => places.seenSince(clause, since)),
  };
}
