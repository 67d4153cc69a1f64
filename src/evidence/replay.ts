import { packageVersion } from '../adapters/package-version.js';
import type { Verdict } from '../engine/verdict.js';
import type { EvidenceRecord } from './evidence-record.js';
import { NotKeptError } from './not-kept-error.js';
import { recordedInput } from './recorded-input.js';
import type { ScreenAsThen } from './replay-call.js';
import { replayDigest } from './replay-digest.js';
import type { ReplayReport } from './replay-report.js';

/**
 * Screens a record's input again by the versions and settings recorded, and says whether the verdict is the same but for
 * its id and the time it took. Where the model had no part in the verdict, the rules alone are asked.
 */
export async function replay(record: EvidenceRecord, screen: ScreenAsThen): Promise<ReplayReport> {
  const { verdict, model, settings } = record;
  const found = recordedInput(record);
  if ('missing' in found) return impossible(found.missing);
  const byModel = model.verdict === 'block' || model.verdict === 'allow';
  try {
    const said = await screen({
      input: found.input,
      channel: record.channel,
      mode: byModel ? verdict.mode : 'rules',
      rulesVersion: verdict.rules_version,
      mlVersion: byModel ? verdict.ml_version : null,
      thresholds: { rules: record.rules.threshold, model: verdict.ml_threshold },
      limits: settings.limits ?? null,
    });
    const { decided_by, ml_version, ml_threshold, mode } = verdict;
    const again = byModel ? said : { ...said, decided_by, ml_version, ml_threshold, mode };
    const notes = model.verdict === 'error' ? ['The model gave no answer then: the rules’ part is compared.'] : [];
    if (replayDigest(again) === record.replay_digest) return { outcome: 'identical', notes, verdict: again };
    const changed = replayDigest(verdict) !== record.replay_digest;
    return {
      outcome: 'different',
      notes: [
        ...notes,
        ...differences(verdict, again),
        ...(changed ? ['The record’s verdict no longer has the digest that was recorded.'] : []),
        ...otherProduct(settings.portcullis),
      ],
      verdict: again,
    };
  } catch (error) {
    if (!(error instanceof NotKeptError)) throw error;
    return impossible(error.message);
  }
}

const impossible = (why: string): ReplayReport => ({
  outcome: 'impossible',
  notes: [`It can’t be replayed: ${why}.`],
  verdict: null,
});

function otherProduct(then: string): readonly string[] {
  const now = packageVersion();
  return then === now ? [] : [`It was decided by Portcullis ${then}; this is ${now}.`];
}

/** Each field that differs, but those that always do. */
export function differences(before: Verdict, after: Verdict): readonly string[] {
  const names = Object.keys(before).filter((name) => name !== 'evidence_id' && name !== 'latency_ms');
  return names
    .filter((name) => before[name as keyof Verdict] !== after[name as keyof Verdict])
    .map((name) => `${name}: ${before[name as keyof Verdict]} then, ${after[name as keyof Verdict]} now`);
}
