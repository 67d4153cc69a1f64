import { useEffect } from 'preact/hooks';
import type { AccountState, StatusResponse } from '../../ports.js';
import { count, localDay, share } from '../format.js';
import { useLoad } from '../hooks.js';
import { Notice } from './basics.js';

const DAY = 86_400_000;
/** Days before the end of a trial at which the banner announces it. */
const TRIAL_WARNING_DAYS = 3;
const REFRESH_MS = 60_000;

interface Trouble {
  readonly kind: 'error' | 'note';
  readonly text: string;
  readonly link?: readonly [href: string, words: string];
}

/** Shows notices that need attention on every page: the trial, the quota, the model. Nothing where all is well. */
export function Banner({ path }: { path: string }) {
  const { value, again } = useLoad<StatusResponse>('/status', REFRESH_MS);
  // What was done on the page before may have changed it.
  useEffect(again, [path]);
  if (value === undefined) return null;
  const troubles = [...quotaTrouble(value.account, value.now), ...modelTrouble(value.model)];
  if (troubles.length === 0) return null;
  return (
    <section aria-label="Status" class="banner">
      {troubles.map(({ kind, text, link }) => (
        <Notice key={text} kind={kind}>
          {text} {link === undefined || link[0] === `#/${path}` ? null : <a href={link[0]}>{link[1]}</a>}
        </Notice>
      ))}
    </section>
  );
}

export function trialEnded({ trialEnds }: AccountState, now: number): boolean {
  return trialEnds !== null && trialEnds <= now;
}

/** Calls left of this month's and the overage; none once a trial has ended. */
export function callsLeft(account: AccountState, now: number): number {
  if (trialEnded(account, now)) return 0;
  return Math.max(0, account.plan.callsPerMonth - account.usedThisMonth) + account.overageLeft;
}

function quotaTrouble(account: AccountState, now: number): readonly Trouble[] {
  const { plan, trialEnds, monthEnds, overageLeft, usedThisMonth } = account;
  const link = ['#/plan', 'See the plans'] as const;
  if (trialEnds !== null && trialEnds <= now)
    return [{ kind: 'error', text: `The trial ended on ${localDay(trialEnds)}. Calls are refused.`, link }];
  const left = callsLeft(account, now);
  if (left === 0)
    return [
      { kind: 'error', text: `This month’s calls are used up. Calls are refused until ${localDay(monthEnds)}.`, link },
    ];
  if (usedThisMonth >= plan.callsPerMonth)
    return [
      { kind: 'note', text: `This month’s calls are used up; ${count(overageLeft)} overage calls are left.`, link },
    ];
  const notes: Trouble[] = [];
  if (trialEnds !== null && trialEnds - now <= TRIAL_WARNING_DAYS * DAY)
    notes.push({ kind: 'note', text: `The trial ends on ${localDay(trialEnds)}.`, link });
  if (left <= 0.1 * plan.callsPerMonth)
    notes.push({ kind: 'note', text: `${count(left)} calls are left this month.`, link });
  return notes;
}

function modelTrouble({ calls, errors }: StatusResponse['model']): readonly Trouble[] {
  if (errors === 0) return [];
  const text = `The model failed on ${count(errors)} of ${count(calls)} calls (${share(errors, calls)}) within the last two hours. The rules decided these.`;
  return [{ kind: 'error', text, link: ['#/evidence?decidedBy=ml-error-rules-fallback', 'Show these calls'] }];
}
