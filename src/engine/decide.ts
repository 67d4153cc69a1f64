import type { DecidedBy, Mode } from './verdict.js';

/** The cost of an answer: rules alone, one model pass, or several: windows, views, or a second network. */
export type RouterLevel = 'rules' | 'advanced' | 'deep';

/** The result of the rules for a text. `rule` and `reason` are those of the strongest finding, null without one. */
export interface RulesSide {
  readonly score: number;
  readonly threshold: number;
  readonly rule: string | null;
  readonly reason: string | null;
  /** Whether a finding that counts for the score lies in text that was decoded, deobfuscated or hidden. */
  readonly hidden: boolean;
}

/**
 * The outcome of the model: not asked, failed, or a calibrated probability from `passes` runs of a network. Below `clearsBelow`
 * it clears what the rules found; 0 where it clears nothing or has not read the whole text. `rulesWeight`: see `combinedScore`.
 */
export type ModelOutcome =
  | { readonly kind: 'off' }
  | { readonly kind: 'error' }
  | {
      readonly kind: 'probability';
      readonly probability: number;
      readonly threshold: number;
      readonly passes: number;
      readonly clearsBelow: number;
      readonly rulesWeight: number;
    };

/** The decided part of a verdict, and what the response headers say of the model. */
export interface Decision {
  readonly verdict: 'allow' | 'block';
  readonly score: number;
  readonly threshold: number;
  readonly rule: string;
  readonly reason: string | null;
  readonly decidedBy: DecidedBy;
  readonly routerLevel: RouterLevel;
  /** The model's own view: null and `off` or `error` where it gave none. */
  readonly modelScore: number | null;
  readonly modelVerdict: 'block' | 'allow' | 'off' | 'error';
  /** Whether the model clears what the rules found; in `shadow` mode, whether it would. */
  readonly cleared: boolean;
  /** The value that `hybrid` mode compares with the model's threshold; null without a probability. */
  readonly combined: number | null;
}

/** Rules at or above this score block whatever the model says. */
const CERTAIN = 0.9;

/** Whether the rules block and no model may clear them: in `hybrid` mode the model is not asked then. */
export function isFinal(rules: RulesSide, clearsBelow: number): boolean {
  return rules.score >= rules.threshold && (clearsBelow === 0 || rules.score >= CERTAIN || rules.hidden);
}

const MODEL_REASON = 'The classifier found a prompt injection in the text.';
const BOTH_REASON = 'The classifier and weak rule findings together found a prompt injection in the text.';
const RULES_REASON = 'The rules found a prompt injection in the text.';

/** Turns both sides' signals into one decision. Total and pure: the same signals give the same decision. */
export function decide(mode: Mode, rules: RulesSide, outcome: ModelOutcome): Decision {
  const model: ModelOutcome = mode === 'rules' ? { kind: 'off' } : outcome;
  const seen = modelFacts(rules, model);
  const rulesBlock = rules.score >= rules.threshold;
  if (mode === 'hybrid' && (!rulesBlock || seen.cleared) && model.kind === 'probability') {
    const score = seen.combined ?? model.probability;
    const block = score >= model.threshold;
    // A block that the model alone wouldn't have given says that the rules had a part in it.
    const reason = model.probability >= model.threshold ? MODEL_REASON : BOTH_REASON;
    return {
      verdict: block ? 'block' : 'allow',
      score,
      threshold: model.threshold,
      rule: block ? 'ml.classifier' : 'none',
      reason: block ? reason : null,
      decidedBy: 'ml',
      ...seen,
    };
  }
  return {
    verdict: rulesBlock ? 'block' : 'allow',
    score: rules.score,
    threshold: rules.threshold,
    // A threshold of 0 blocks without any finding.
    rule: rulesBlock ? (rules.rule ?? 'rules.threshold') : 'none',
    reason: rulesBlock ? (rules.reason ?? RULES_REASON) : null,
    decidedBy: mode === 'hybrid' && model.kind === 'error' ? 'ml-error-rules-fallback' : 'rules',
    ...seen,
  };
}

function modelFacts(
  rules: RulesSide,
  model: ModelOutcome,
): Pick<Decision, 'routerLevel' | 'modelScore' | 'modelVerdict' | 'cleared' | 'combined'> {
  if (model.kind !== 'probability')
    return { routerLevel: 'rules', modelScore: null, modelVerdict: model.kind, cleared: false, combined: null };
  const cleared =
    rules.score >= rules.threshold &&
    !isFinal(rules, model.clearsBelow) &&
    model.probability < Math.min(model.clearsBelow, model.threshold);
  return {
    routerLevel: model.passes > 1 ? 'deep' : 'advanced',
    modelScore: model.probability,
    modelVerdict: model.probability >= model.threshold ? 'block' : 'allow',
    cleared,
    combined: cleared ? model.probability : combinedScore(model.probability, rules.score, model.rulesWeight),
  };
}

/** Most log-odds that findings below the rules' threshold may add, wherever an operator puts that threshold. */
const MOST_ADDED = 3;

/**
 * Returns the value that the model decides by: its probability, raised by what the rules found below their threshold.
 *
 * @param probability the model's, 0..1
 * @param rulesScore 0..1; 0, no finding, leaves the probability as it is
 * @param weight log-odds for a whole score of 1
 */
export function combinedScore(probability: number, rulesScore: number, weight: number): number {
  if (rulesScore * weight <= 0 || probability <= 0 || probability >= 1) return probability;
  const added = Math.min(weight * rulesScore, MOST_ADDED);
  const odds = (probability / (1 - probability)) * Math.exp(added);
  return Math.max(probability, odds / (1 + odds));
}
