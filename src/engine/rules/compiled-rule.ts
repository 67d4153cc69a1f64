import type { ViewKind } from '../text/view.js';
import type { CompiledPattern, RuleGroupName } from './pattern/compiled-pattern.js';
import type { PatternForm } from './pattern/prepare-pattern.js';
import { BOUNDARY_SLACK, UNBOUNDED } from './prefilter/literal-index.js';
import type { Rule, Stop } from './types.js';

/** Order and distance that a rule demands of its steps. */
export type StepShape =
  | { readonly kind: 'any' }
  | { readonly kind: 'sequence'; readonly gap: number; readonly stop: Stop }
  | { readonly kind: 'all'; readonly within: number; readonly stop: Stop };

export interface CompiledRule {
  readonly index: number;
  readonly rule: Rule;
  /** 0 for an experimental rule. */
  readonly score: number;
  /** The views that it reads, as bits. */
  readonly views: number;
  readonly shape: StepShape;
  readonly steps: readonly (readonly CompiledPattern[])[];
  /** Indices of `steps`, the one whose literals are least common first: its patterns trigger the rule. */
  readonly order: readonly number[];
  readonly except: readonly CompiledPattern[];
  /** Maximum distance between the ends of two required literals of one match, UTF-16 code units. */
  readonly maxSpan: number;
}

/** The score that a rule's findings add: none for an experimental rule, which runs in shadow. */
export function countedScore({ status, score }: Pick<Rule, 'status' | 'score'>): number {
  return status === 'experimental' ? 0 : score;
}

/** The longest that some steps in a row can be, with a gap after each. */
export function measureSteps(steps: readonly (readonly CompiledPattern[])[], gap: number): number {
  return steps.reduce((sum, patterns) => sum + gap + Math.max(0, ...patterns.map(({ longest }) => longest)), 0);
}

/** `CompiledRule.maxSpan` of a rule. */
export function measureMaxSpan(shape: StepShape, steps: readonly (readonly CompiledPattern[])[]): number {
  if (shape.kind === 'all') return shape.within + BOUNDARY_SLACK;
  const gap = shape.kind === 'sequence' ? shape.gap : 0;
  return Math.min(UNBOUNDED, measureSteps(steps, gap) - gap + BOUNDARY_SLACK);
}

const VIEW_BITS: Readonly<Record<ViewKind, number>> = { raw: 1, folded: 2, squeezed: 4, decoded: 8, hidden: 16 };

export function viewBit(kind: ViewKind): number {
  return VIEW_BITS[kind];
}

/** A rule that reads the raw view alone is matched as written; any other has its patterns folded. */
export function choosePatternForm(rule: { readonly views: readonly ViewKind[] }): PatternForm {
  return rule.views.every((view) => view === 'raw') ? 'raw' : 'folded';
}

/** The group whose index has the literals of a rule. */
export function chooseGroup(rule: { readonly views: readonly ViewKind[] }): RuleGroupName {
  return rule.views.includes('raw') ? 'raw' : 'folded';
}

const DEFAULT_GAP = 40;
const DEFAULT_WITHIN = 120;

/** The steps of a rule as written, with their shape. `any` is one step. */
export function readSteps(match: Rule['match']): {
  readonly shape: StepShape;
  readonly steps: readonly { readonly path: readonly (string | number)[]; readonly patterns: readonly string[] }[];
} {
  if ('any' in match) return { shape: { kind: 'any' }, steps: [{ path: ['match', 'any'], patterns: match.any }] };
  const stop = match.stop ?? 'sentence';
  if ('sequence' in match) {
    return {
      shape: { kind: 'sequence', gap: match.gap ?? DEFAULT_GAP, stop },
      steps: match.sequence.map((patterns, step) => ({ path: ['match', 'sequence', step], patterns })),
    };
  }
  return {
    shape: { kind: 'all', within: match.within ?? DEFAULT_WITHIN, stop },
    steps: match.all.map((patterns, step) => ({ path: ['match', 'all', step], patterns })),
  };
}
