import type { Plan } from './plans.js';
import type { Charge, Quota } from './usage-store.js';

/** The calendar month in UTC of a time: `2026-11`. */
export function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** Whole seconds until the calendar month turns in UTC; at least 1. */
function secondsToNextMonth(at: number): number {
  const date = new Date(at);
  return Math.max(1, Math.ceil((Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - at) / 1000));
}

/** The quota after `used` calls of the plan, with `overageLeft` bought calls. */
export function quotaOf(plan: Plan, used: number, overageLeft: number, at: number): Quota {
  return {
    limit: plan.monthlyCalls,
    remaining: Math.max(0, plan.monthlyCalls - used) + overageLeft,
    resetSeconds: secondsToNextMonth(at),
  };
}

/** Whether the plan is a trial that is over. */
export function trialEnded(plan: Plan, trialEndsAt: number | null, at: number): boolean {
  return plan.trialDays !== null && trialEndsAt !== null && at >= trialEndsAt;
}

/** A refusal with its quota. A trial that ended has nothing left. */
export function refused(code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED', quota: Quota): Charge {
  return { ...quota, remaining: 0, allowed: false, code };
}
