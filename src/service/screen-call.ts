import { newEvidenceId } from '../adapters/evidence-id.js';
import { packageVersion } from '../adapters/package-version.js';
import type { EvidenceRecord, Keep } from '../evidence/evidence-record.js';
import { type Explanation, type Input, inputText, type Verdict } from '../index.js';
import { bareVerdict } from './bare-verdict.js';
import type { RecentVerdicts } from './recent-verdicts.js';
import { recordOf } from './record-of.js';
import { recordedLimits } from './recorded-limits.js';
import type { Scorers } from './scorers.js';
import type { ScreeningStore } from './screening-store.js';

/** What a screening goes through once its quota is charged. */
export interface ScreenParts {
  readonly store: Pick<ScreeningStore, 'evidence'>;
  readonly scorers: Scorers;
  readonly now: () => Date;
  /** Default: every text is scanned. */
  readonly recent?: RecentVerdicts | undefined;
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
  { store, scorers, now, recent }: ScreenParts,
  { accountId, keyId, keep }: CallOwner,
  input: Input,
): Promise<ScreenedInput> {
  const evidenceId = newEvidenceId();
  const started = performance.now();
  // Rules say the same of the same text; a model may fail.
  const isRemembered = recent !== undefined && typeof input === 'string' && scorers.info.mode === 'rules';
  const known = isRemembered ? recent.get(accountId, input) : undefined;
  const explained = known ?? (await scorers.score(input, { explain: true, evidenceId }));
  if (isRemembered && known === undefined) recent.put(accountId, input, explained);
  const { explanation } = explained;
  const verdict = bareVerdict(explained, evidenceId, performance.now() - started);
  const { rules_threshold, timeout_ms } = scorers.info;
  const limits = recordedLimits(verdict.mode);
  const record = recordOf({
    time: now(),
    accountId,
    keyId,
    keep,
    text: inputText(input),
    json: typeof input !== 'string',
    verdict,
    explanation,
    settings: { portcullis: packageVersion(), rules_threshold, paranoia: null, timeout_ms, limits },
  });
  await store.evidence.append(record);
  return { verdict, explanation, record };
}
