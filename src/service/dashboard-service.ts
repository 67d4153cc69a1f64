import type { DashboardService } from '../dashboard/ports.js';
import { byChannel } from '../engine/channel.js';
import { errorCode } from '../engine/errors.js';
import type { Store } from '../store/store.js';
import type { LongTexts } from './long-texts/long-texts.js';
import { previewOverlay } from './preview-overlay.js';
import type { ReplayService } from './replay-service.js';
import type { AccountOverlays } from './screening/account-overlays.js';
import { createFairLimit } from './screening/fair-limit.js';
import type { ScreeningEngine } from './screening/ports.js';
import { screenCall } from './screening/screen-call.js';

export interface DashboardServiceParts {
  readonly store: Pick<Store, 'accounts' | 'usage' | 'evidence'>;
  readonly engine: ScreeningEngine;
  readonly overlays: AccountOverlays;
  readonly replays: Pick<ReplayService, 'replay'>;
  /** Default: all is done in this thread. */
  readonly longTexts?: LongTexts | undefined;
  readonly now: () => Date;
}

export function dashboardService(parts: DashboardServiceParts): DashboardService {
  const { store, engine, overlays, replays, longTexts, now } = parts;
  const limitPreviews = createFairLimit({ atOnce: Number.POSITIVE_INFINITY, perTenant: 1 });
  // To read an overlay takes the digest of all rules, a tenth of a second of this thread.
  const limitReads = createFairLimit({ atOnce: 1, perTenant: 4 });
  const find = async (accountId: string) => {
    const account = await store.accounts.get(accountId);
    if (account === undefined) throw new Error('a session of an account that is gone');
    return account;
  };
  return {
    async playground(accountId, asked) {
      const account = await find(accountId);
      const applied = await overlays.changeOf(account.overlay);
      const charge = await store.usage.charge(accountId, now().getTime());
      if (!charge.allowed) {
        const error = charge.code === 'TRIAL_ENDED' ? 'The trial has ended.' : 'The calls of this month are used up.';
        return { outcome: 'refused', code: charge.code, error };
      }
      try {
        const owner = { accountId, keyId: null, keep: account.settings.keep, overlay: applied };
        const { record } = await screenCall({ write: store.evidence.append, engine, longTexts, now }, owner, asked);
        return { outcome: 'answered', record };
      } catch (error) {
        if (errorCode(error) !== 'OVERLOADED') throw error;
        return {
          outcome: 'refused',
          code: 'OVERLOADED',
          error: 'Too many calls are in progress; try again in a moment.',
        };
      }
    },

    replay: replays.replay,

    setting: () => settingOf(engine.info),

    parseOverlay: (accountId, source) =>
      limitReads(accountId, async () => {
        const overlay = overlays.parse(source);
        return { overlay, rulesVersion: overlays.trial(overlay)?.change.rulesVersion ?? engine.info.rules_version };
      }),

    preview: (accountId, overlay) =>
      limitPreviews(accountId, async () => {
        const account = await find(accountId);
        return previewOverlay({ store, engine, now }, accountId, {
          before: await overlays.changeOf(account.overlay),
          after: overlays.trial(overlay),
        });
      }),
  };
}

function settingOf(info: ScreeningEngine['info']): ReturnType<DashboardService['setting']> {
  const { mode, rules_version, rules_threshold, ml_version, ml_threshold, channels } = info;
  const { operating_point, operating_points } = info;
  return {
    ...{ mode, rulesVersion: rules_version, rulesThreshold: rules_threshold, mlVersion: ml_version },
    ...{ mlThreshold: ml_threshold, operatingPoint: operating_point, operatingPoints: operating_points },
    mlThresholds: byChannel((channel) => channels[channel].ml_threshold),
  };
}
