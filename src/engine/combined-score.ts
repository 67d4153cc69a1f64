/**
 * Log-odds that the rules' score adds to the model's probability, for a whole score of 1. Chosen on dev: there it
 * finds more attacks at fewer false alarms than a lower threshold does (models/training/record/stacking.md).
 */
const RULES_WEIGHT = 6;
/** Most log-odds that findings below the rules' threshold may add, wherever an operator puts that threshold. */
const MOST_ADDED = 3;

/**
 * What the model decides by: its probability, raised by what the rules found below their threshold.
 *
 * @param probability the model's, 0..1
 * @param rulesScore 0..1; 0, no finding, leaves the probability as it is
 */
export function combinedScore(probability: number, rulesScore: number): number {
  if (rulesScore <= 0 || probability <= 0 || probability >= 1) return probability;
  const added = Math.min(RULES_WEIGHT * rulesScore, MOST_ADDED);
  const odds = (probability / (1 - probability)) * Math.exp(added);
  return Math.max(probability, odds / (1 + odds));
}
