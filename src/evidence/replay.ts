import type { Input } from '../engine/input.js';
import type { Verdict } from '../engine/verdict.js';
import type { EvidenceRecord } from './evidence-record.js';
import { replayDigest } from './replay-digest.js';
import type { ReplayReport } from './replay-report.js';

/** Who screens again. */
export interface Replayer {
  readonly rulesVersion: string;
  readonly mlVersion: string;
  /** Screens once more, as the record's call was. */
  readonly screen: (input: Input, record: EvidenceRecord) => Promise<Verdict>;
}

/** Screens a record's input again and says whether the verdict is the same but for its id and the time it took. */
export async function replay(record: EvidenceRecord, replayer: Replayer): Promise<ReplayReport> {
  const { input, verdict } = record;
  if (input.kept !== 'whole' || input.text === null) {
    return impossible(`the account kept the input ${input.kept === 'masked' ? 'masked' : 'as its SHA-256 only'}`);
  }
  if (verdict.decided_by === 'ml-error-rules-fallback')
    return impossible('the model gave no answer at the time, and that can’t be repeated');
  const other = [
    ...otherVersion('rules_version', verdict.rules_version, replayer.rulesVersion),
    ...otherVersion('ml_version', verdict.ml_version, replayer.mlVersion),
  ];
  if (other.length > 0) return { outcome: 'impossible', notes: other };
  const again = await replayer.screen(input.json ? (JSON.parse(input.text) as Input) : input.text, record);
  if (replayDigest(again) === record.replay_digest) return { outcome: 'identical', notes: [] };
  return { outcome: 'different', notes: differences(verdict, again) };
}

const impossible = (why: string): ReplayReport => ({ outcome: 'impossible', notes: [`It can’t be replayed: ${why}.`] });

const otherVersion = (name: string, recorded: string, here: string): readonly string[] =>
  recorded === here ? [] : [`It was decided by ${name} ${recorded}; this service runs ${here}.`];

/** Each field that differs, but those that always do. */
function differences(before: Verdict, after: Verdict): readonly string[] {
  const names = Object.keys(before).filter((name) => name !== 'evidence_id' && name !== 'latency_ms');
  return names
    .filter((name) => before[name as keyof Verdict] !== after[name as keyof Verdict])
    .map((name) => `${name}: ${before[name as keyof Verdict]} then, ${after[name as keyof Verdict]} now`);
}
