import type { DashboardService } from '../dashboard/ports.js';
import type { Store } from '../store/store.js';
import type { ReplayService } from './replay-service.js';
import type { Scorers } from './screening/ports.js';
import { screenCall } from './screening/screen-call.js';

/** What the dashboard asks of the service: a call of the playground, and a replay. */
export function dashboardService(
  store: Pick<Store, 'accounts' | 'usage' | 'evidence'>,
  scorers: Scorers,
  now: () => Date,
  replay: ReplayService['replay'],
): DashboardService {
  return {
    async playground(accountId, input) {
      const account = await store.accounts.get(accountId);
      if (account === undefined) throw new Error('a session of an account that is gone');
      const charge = await store.usage.charge(accountId, now().getTime());
      if (!charge.allowed) {
        const error = charge.code === 'TRIAL_ENDED' ? 'The trial has ended.' : 'The calls of this month are used up.';
        return { outcome: 'refused', code: charge.code, error };
      }
      try {
        const owner = { accountId, keyId: null, keep: account.settings.keep };
        const { record } = await screenCall({ write: store.evidence.append, scorers, now }, owner, input);
        return { outcome: 'answered', record };
      } catch (error) {
        if (!(error instanceof Error && error.name === 'OverloadedError')) throw error;
        return {
          outcome: 'refused',
          code: 'OVERLOADED',
          error: 'Too many calls are under way; try again in a moment.',
        };
      }
    },

    replay,
  };
}
