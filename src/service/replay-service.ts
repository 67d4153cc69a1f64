import { newEvidenceId } from '../adapters/evidence-id.js';
import type { EngineInfo } from '../engine/engine-settings.js';
import { overlayChange } from '../engine/rules/pack/stack-packs.js';
import type { PackChange } from '../engine/rules/types.js';
import type { Verdict } from '../engine/verdict.js';
import type { EvidenceRecord, ReplayReport } from '../evidence/evidence-record.js';
import { type KeptVersions, keptOverlay } from '../evidence/kept-versions.js';
import { recordedEngines } from '../evidence/recorded-engines.js';
import { type ReplayCall, replay, whatIf } from '../evidence/replay.js';
import type { Store } from '../store/store.js';
import type { AccountOverlays } from './screening/account-overlays.js';
import { createFairLimit } from './screening/fair-limit.js';
import type { ScreeningEngine } from './screening/ports.js';
import { bareVerdict, recordedLimits } from './screening/screen-call.js';

export interface ReplayService {
  /** By the versions recorded, or (`current`) by those that run now. */
  replay(record: EvidenceRecord, against: 'recorded' | 'current'): Promise<ReplayReport>;
  close(): Promise<void>;
}

/** Replays at once, each of which may start a worker with its own versions; the others wait. */
const MOST_AT_ONCE = 8;
/** Replays of one account that run or wait; more are refused, since no quota counts them. */
const MOST_OF_ACCOUNT = 4;

/** The engine that runs now replays its own versions; a separate scorer replays earlier ones. */
export function replayService(
  store: Pick<Store, 'accounts' | 'versions'>,
  engine: ScreeningEngine,
  overlays: AccountOverlays,
): ReplayService {
  const recorded = recordedEngines(store.versions);

  const limit = createFairLimit({ atOnce: MOST_AT_ONCE, perTenant: MOST_OF_ACCOUNT });

  const now = async (
    tenant: string,
    { input, mode, channel, task }: Pick<ReplayCall, 'input' | 'mode' | 'channel' | 'task'>,
    change?: PackChange,
  ): Promise<Verdict> => {
    const evidenceId = newEvidenceId();
    return bareVerdict(await engine.score(input, { explain: true, evidenceId, mode, channel, task, change, tenant }));
  };

  const run: ReplayService['replay'] = async (record, against) => {
    const tenant = record.account_id;
    if (against === 'current') {
      const account = await store.accounts.get(record.account_id);
      const applied = await overlays.changeOf(account?.overlay ?? null);
      return whatIf(record, (call) => now(tenant, { ...call, mode: engine.info.mode }, applied?.change));
    }
    return replay(record, async (call) => {
      if (runsNow(call, engine.info)) return now(tenant, call);
      const change = await changeThen(store.versions, call, engine.info);
      if (change !== undefined) return now(tenant, call, change);
      return recorded.screen(call);
    });
  };

  return {
    replay: (record, against) => limit(record.account_id, () => run(record, against)),
    close: () => recorded.close(),
  };
}

function runsNow({ rulesVersion, mlVersion, thresholds, limits, channel }: ReplayCall, info: EngineInfo): boolean {
  if (rulesVersion !== info.rules_version || thresholds.rules !== info.rules_threshold) return false;
  return (
    mlVersion === null ||
    (thresholds.model === info.channels[channel].ml_threshold && modelRunsNow({ mlVersion, limits }, info))
  );
}

function modelRunsNow({ mlVersion, limits }: Pick<ReplayCall, 'mlVersion' | 'limits'>, info: EngineInfo): boolean {
  if (mlVersion === null) return true;
  const sameLimits = limits === null || JSON.stringify(limits) === JSON.stringify(recordedLimits('hybrid'));
  return mlVersion === info.ml_version && sameLimits;
}

async function changeThen(versions: KeptVersions, call: ReplayCall, info: EngineInfo): Promise<PackChange | undefined> {
  if (!modelRunsNow(call, info)) return undefined;
  const kept = await keptOverlay(versions, call.rulesVersion);
  if (kept?.base !== info.rules_version) return undefined;
  // Only entries that counted then were kept.
  const change = overlayChange(kept.overlay, '', call.rulesVersion);
  const { rules, model } = call.thresholds;
  return { ...change, threshold: rules, ...(call.mlVersion === null ? {} : { modelThreshold: model }) };
}
