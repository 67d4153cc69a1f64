import type { Atom } from './atoms.js';
import type { CompiledRule } from './compiled-rule.js';
import { type Clause, clauseWeight } from './pattern-literals.js';

/** How a rule is woken: by the atoms of the step that is seen least. */
export interface RuleAlarm {
  /** Atoms that their literals announce. */
  readonly atoms: readonly Atom[];
  /** Atoms that need no literal: a pattern set asks for them in every text. */
  readonly asked: readonly Atom[];
}

/** Asking a pattern costs more than any literal. */
const ASKED_WEIGHT = 1000;

export function ruleAlarm(rule: CompiledRule): RuleAlarm {
  const atoms = rule.steps[rule.order[0] ?? 0] ?? [];
  return {
    atoms: atoms.filter((atom) => atom.literals.length > 0),
    asked: atoms.filter((atom) => atom.literals.length === 0),
  };
}

/** Indices of the steps by how often their patterns' literals are seen, the rarest first. */
export function rarestStepsFirst(steps: readonly (readonly Atom[])[]): readonly number[] {
  const weights = steps.map((atoms) =>
    atoms.reduce(
      (sum, { literals }) =>
        sum + (literals.length === 0 ? ASKED_WEIGHT : clauseWeight(rarestFirst(literals)[0]?.clause ?? [])),
      0,
    ),
  );
  return steps.map((_, step) => step).sort((a, b) => (weights[a] as number) - (weights[b] as number));
}

/** Clauses kept of a pattern besides its rarest. */
const MAX_OTHERS = 3;
/** A clause seen more often than this rules hardly any text out. */
const MAX_WEIGHT = 8;

/** A clause with its place in the order in which a match meets the clauses of its pattern. */
export interface OrderedClause {
  readonly clause: Clause;
  readonly order: number;
}

/** The clauses by which a pattern is told: its rarest, and some others that are rare enough to be worth their reading. */
export function tellingClauses(atom: Atom): readonly OrderedClause[] {
  const [rarest, ...others] = rarestFirst(atom.literals);
  if (!rarest) return [];
  return [rarest, ...others.filter(({ clause }) => clauseWeight(clause) < MAX_WEIGHT).slice(0, MAX_OTHERS)];
}

function rarestFirst(clauses: readonly Clause[]): readonly OrderedClause[] {
  const weighed = clauses.map((clause, order) => ({ clause, order, weight: clauseWeight(clause) }));
  return weighed.sort((a, b) => a.weight - b.weight);
}
