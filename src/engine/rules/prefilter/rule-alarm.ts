import type { CompiledRule } from '../compiled-rule.js';
import { type AskedAtom, type Atom, isAsked } from '../pattern/atoms.js';
import type { LiteralWay, WeighedClause } from './clause.js';

/** How a rule is woken: by the atoms of the step that is seen least. */
export interface RuleAlarm {
  /** Atoms that their literals announce. */
  readonly atoms: readonly Atom[];
  /** Atoms that need no literal: a pattern set asks for them in every text. */
  readonly asked: readonly AskedAtom[];
}

/** Asking a pattern costs more than any literal. */
const ASKED_WEIGHT = 1000;

export function ruleAlarm(rule: CompiledRule): RuleAlarm {
  const atoms = rule.steps[rule.order[0] ?? 0] ?? [];
  return {
    atoms: atoms.filter((atom) => !isAsked(atom)),
    asked: atoms.filter(isAsked),
  };
}

/** Indices of the steps by how often their patterns' literals are seen, the rarest first. */
export function rarestStepsFirst(steps: readonly (readonly Atom[])[]): readonly number[] {
  const weights = steps.map((atoms) => atoms.reduce((sum, atom) => sum + alarmWeight(atom), 0));
  return steps.map((_, step) => step).sort((a, b) => (weights[a] as number) - (weights[b] as number));
}

function alarmWeight({ literals }: Atom): number {
  if (literals.length === 0) return ASKED_WEIGHT;
  return literals.reduce((sum, way) => sum + Math.min(...way.clauses.map(({ weight }) => weight)), 0);
}

/** Clauses kept of a way besides its rarest. */
const MAX_OTHERS = 3;
/** A clause seen more often than this rules hardly any text out. */
const MAX_WEIGHT = 30;

/** The clauses by which a way is told: its rarest, and some others that are rare enough to be worth their reading. */
export function tellingClauses({ clauses }: LiteralWay): readonly WeighedClause[] {
  const [rarest, ...others] = [...clauses].sort((a, b) => a.weight - b.weight);
  if (!rarest) return [];
  return [rarest, ...others.filter(({ weight }) => weight < MAX_WEIGHT).slice(0, MAX_OTHERS)];
}
