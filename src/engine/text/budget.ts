import type { Span } from '../span.js';
import type { TextLimits } from './text-limits.js';
import type { Unseen } from './view.js';

/** What is left to spend on derived views of one input, and what was not read for want of it. */
export interface Budget {
  characters: number;
  views: number;
  readonly unseen: Unseen[];
}

/** Records beyond these say nothing that those before don't. */
const MAX_UNSEEN = 64;

/** The budget of an input of this length. */
export function startBudget(length: number, limits: TextLimits): Budget {
  const characters = Math.min(limits.maxDerived, length * limits.derivedFactor + limits.derivedBase);
  return { characters, views: limits.maxViews * Math.max(1, Math.ceil(length / limits.piece)), unseen: [] };
}

/** Takes a view of that many characters from the budget; false, with a record, when it doesn't reach. */
export function spend(budget: Budget, characters: number, span: Span, transform: string): boolean {
  if (budget.views > 0 && budget.characters >= characters) {
    budget.views -= 1;
    budget.characters -= characters;
    return true;
  }
  leaveUnseen(budget, span, transform, budget.views > 0 ? 'maxDerived' : 'maxViews');
  return false;
}

/** Records what a limit left out. */
export function leaveUnseen(budget: Budget, span: Span, transform: string, limit: string): void {
  if (budget.unseen.length < MAX_UNSEEN) budget.unseen.push({ span, transform, limit });
}
