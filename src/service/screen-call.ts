import { newEvidenceId } from '../adapters/evidence-id.js';
import { packageVersion } from '../adapters/package-version.js';
import type { EvidenceRecord, Keep } from '../evidence/evidence-record.js';
import { type Explanation, type Input, inputText, type Verdict } from '../index.js';
import { bareVerdict } from './bare-verdict.js';
import { recordOf } from './record-of.js';
import { recordedLimits } from './recorded-limits.js';
import type { Scorers } from './scorers.js';
import type { ScreeningStore } from './screening-store.js';

/** What a screening goes through once its quota is charged. */
export interface ScreenParts {
  readonly store: Pick<ScreeningStore, 'evidence'>;
  readonly scorers: Scorers;
  readonly now: () => Date;
}

/** Whose input it is. `keyId` is null for a call from the dashboard's playground. */
export interface CallOwner {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly keep: Keep;
}

/** A verdict whose evidence is durable. */
export interface ScreenedInput {
  readonly verdict: Verdict;
  readonly explanation: Explanation;
  readonly record: EvidenceRecord;
}

/** Scores an input and stores its evidence; resolves when the record is durable. */
export async function screenCall(
  { store, scorers, now }: ScreenParts,
  owner: CallOwner,
  input: Input,
): Promise<ScreenedInput> {
  const evidenceId = newEvidenceId();
  const explained = await scorers.score(input, { explain: true, evidenceId });
  const { explanation } = explained;
  const verdict = bareVerdict(explained);
  const record = recordOf({
    ...owner,
    time: now(),
    text: inputText(input),
    json: typeof input !== 'string',
    verdict,
    explanation,
    settings: {
      portcullis: packageVersion(),
      rules_threshold: scorers.info.rules_threshold,
      paranoia: null,
      timeout_ms: scorers.info.timeout_ms,
      limits: recordedLimits(verdict.mode),
    },
  });
  await store.evidence.append(record);
  return { verdict, explanation, record };
}
