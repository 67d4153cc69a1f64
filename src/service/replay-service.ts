import { newEvidenceId } from '../adapters/evidence-id.js';
import type { EvidenceRecord, ReplayReport } from '../evidence/evidence-record.js';
import type { VersionShelf } from '../evidence/kept-versions.js';
import { recordedScorers } from '../evidence/recorded-scorers.js';
import type { ReplayCall } from '../evidence/replay.js';
import { replay, whatIf } from '../evidence/replay.js';
import type { EngineInfo, Input, Verdict } from '../index.js';
import type { Scorers } from './screening/ports.js';
import { bareVerdict, recordedLimits } from './screening/screen-call.js';

/** Replays for accounts' owners. */
export interface ReplayService {
  /** By the versions recorded, or (`current`) by those that run now. */
  replay(record: EvidenceRecord, against: 'recorded' | 'current'): Promise<ReplayReport>;
  close(): Promise<void>;
}

/** Replays that wait for their turn; more are refused. Each may start a scorer with versions of its own. */
const MOST_WAITING = 8;

/** What runs now answers for its own versions; a scorer of its own for those of before. */
export function replayService(shelf: VersionShelf, scorers: Scorers): ReplayService {
  const recorded = recordedScorers(shelf);
  let waiting = 0;

  const now = async (input: Input, options: Pick<ReplayCall, 'mode' | 'channel'>): Promise<Verdict> => {
    return bareVerdict(await scorers.score(input, { explain: true, evidenceId: newEvidenceId(), ...options }));
  };

  return {
    async replay(record, against) {
      if (against === 'current')
        return whatIf(record, (input, { channel }) => now(input, { channel, mode: scorers.info.mode }));
      return replay(record, async (call) => {
        if (runsNow(call, scorers.info)) return now(call.input, call);
        if (waiting >= MOST_WAITING) throw Object.assign(new Error('too many replays'), { name: 'OverloadedError' });
        waiting++;
        try {
          return await recorded.screen(call);
        } finally {
          waiting--;
        }
      });
    },
    close: () => recorded.close(),
  };
}

function runsNow({ rulesVersion, mlVersion, thresholds, limits }: ReplayCall, info: EngineInfo): boolean {
  if (rulesVersion !== info.rules_version || thresholds.rules !== info.rules_threshold) return false;
  if (mlVersion === null) return true;
  const sameLimits = limits === null || JSON.stringify(limits) === JSON.stringify(recordedLimits('hybrid'));
  return mlVersion === info.ml_version && thresholds.model === info.ml_threshold && sameLimits;
}
