import type { CompiledRule } from '../compiled-rule.js';

/** A literal's place is that of the edge after it, which may lie outside the match. */
export const EDGES = 2;

/**
 * How far apart two literals of one firing of a rule may end, as `countedLength` counts; infinite when there is no bound.
 */
export function ruleReach({ shape, steps }: CompiledRule): number {
  const longest = steps.map((atoms) => Math.max(0, ...atoms.map((atom) => atom.counted)));
  if (shape.kind === 'all') return shape.within + EDGES;
  const gaps = shape.kind === 'sequence' ? shape.gap * (steps.length - 1) : 0;
  return longest.reduce((sum, length) => sum + length, gaps + EDGES);
}
