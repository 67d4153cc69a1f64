import { newEvidenceId } from '../../adapters/evidence-id.js';
import { packageVersion } from '../../adapters/package-version.js';
import { thresholdOf } from '../../engine/channel.js';
import { DEFAULT_LIMITS } from '../../engine/limits.js';
import type { PackChange } from '../../engine/rules/types.js';
import type {
  EvidenceFinding,
  EvidenceRecord,
  Keep,
  RecordedLimits,
  RecordedRun,
  ReplaySettings,
} from '../../evidence/evidence-record.js';
import { keepInput, keepText } from '../../evidence/keep-input.js';
import { replayDigest } from '../../evidence/replay-digest.js';
import {
  type Channel,
  type EngineInfo,
  type ExplainedFinding,
  type ExplainedVerdict,
  type Explanation,
  type Input,
  inputText,
  type Mode,
  toJsonText,
  type Verdict,
} from '../../index.js';
import type { RunStore } from '../../store/store.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { LongTexts } from '../long-texts/long-texts.js';
import type { AccountChange } from './account-overlays.js';
import { type AskedRun, followRun } from './follow-run.js';
import type { ScreeningEngine } from './ports.js';
import type { RecentVerdicts } from './recent-verdicts.js';

/** The parts that a screening call uses once its quota admits it. */
export interface ScreenParts {
  /** Stores a record; resolves when it is durable. */
  readonly write: (record: EvidenceRecord) => Promise<void>;
  readonly engine: ScreeningEngine;
  readonly now: () => Date;
  /** Default: no call is a part of a run. */
  readonly runs?: RunStore | undefined;
  /** Default: all is done in this thread. */
  readonly longTexts?: LongTexts | undefined;
  /** Default: every text is scanned. */
  readonly recent?: RecentVerdicts | undefined;
}

/** Whose input it is. `keyId` is null for a call from the dashboard's playground. */
export interface CallOwner {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly keep: Keep;
  /** Default: nothing on top of the server's own settings. */
  readonly under?: AccountChange | undefined;
  /** Of the trace that the call is a part of. */
  readonly traceId?: string | undefined;
}

/** The text to screen and the caller's context for it. */
export interface AskedInput {
  readonly input: Input;
  readonly channel?: Channel | undefined;
  /** At most `TASK_LENGTH` long. */
  readonly task?: string | undefined;
  readonly run?: AskedRun | undefined;
}

/** A verdict whose evidence is durable. */
export interface ScreenedInput {
  readonly verdict: Verdict;
  readonly explanation: Explanation;
  readonly record: EvidenceRecord;
}

/** Scores an input and stores its evidence; resolves when the record is durable. */
export async function screenCall(
  { write, engine, now, recent, longTexts, runs }: ScreenParts,
  { accountId, keyId, keep, under, traceId }: CallOwner,
  { input: given, channel, task, run }: AskedInput,
): Promise<ScreenedInput> {
  const input = typeof given === 'string' ? given : toJsonText(given);
  const evidenceId = newEvidenceId();
  const started = performance.now();
  // Rules say the same of the same text; a model may fail.
  const isRemembered =
    recent !== undefined && typeof input === 'string' && channel === undefined && engine.info.mode === 'rules';
  const change = under?.change;
  // By the rules too: under another overlay they may say something else.
  const asker = change === undefined ? accountId : `${accountId} ${change.rulesVersion}`;
  const known = isRemembered ? recent.get(asker, input) : undefined;
  const explained =
    known ?? (await engine.score(input, { explain: true, evidenceId, tenant: accountId, channel, task, change }));
  if (isRemembered && known === undefined) recent.put(asker, input, explained);
  const { explanation } = explained;
  const verdict = bareVerdict(explained, evidenceId, performance.now() - started);
  const limits = recordedLimits(verdict.mode);
  const followed =
    run === undefined || runs === undefined
      ? undefined
      : await followRun(runs, accountId, run, { input, task, explained, evidenceId, keep });
  const text = inputText(input);
  const maskedText = keep === 'masked' ? await maskLong(text, accountId, longTexts) : undefined;
  const record = buildRecord({
    time: now(),
    accountId,
    keyId,
    traceId,
    run: followed?.recorded,
    keep,
    text,
    maskedText,
    json: typeof input !== 'string',
    task,
    verdict,
    explanation,
    settings: {
      portcullis: packageVersion(),
      rules_threshold: explanation.rules.threshold,
      paranoia: null,
      timeout_ms: engine.info.timeout_ms,
      limits,
      ...(under === undefined || under.number === null ? {} : { overlay: under.number }),
      ...(limits === null ? {} : { operating_point: operatingPoint(engine.info, explanation.channel, change) }),
    },
  });
  await write(record);
  if (run !== undefined && followed !== undefined && followed.entries.length > 0)
    await runs?.add(accountId, run.id, followed.entries);
  return { verdict, explanation, record };
}

/** Where the model blocked: the name of its operating point, or null for a threshold that was given as a number. */
function operatingPoint(info: EngineInfo, channel: Channel, change: PackChange | undefined): string | null {
  const threshold = thresholdOf(change?.modelThreshold, channel);
  if (threshold === undefined) return info.channels[channel].operating_point;
  return typeof threshold === 'string' ? threshold : null;
}

/**
 * The verdict alone, in the order of its fields, with the id of this call and the milliseconds that it took this service.
 * Named one by one: the rest of an object is dear.
 */
export function bareVerdict(
  explained: ExplainedVerdict,
  evidenceId: string = explained.evidence_id,
  tookMs: number = explained.latency_ms,
): Verdict {
  return {
    verdict: explained.verdict,
    confidence: explained.confidence,
    rule: explained.rule,
    reason: explained.reason,
    rules_version: explained.rules_version,
    evidence_id: evidenceId,
    latency_ms: Math.round(tookMs),
    score: explained.score,
    threshold: explained.threshold,
    decided_by: explained.decided_by,
    ml_version: explained.ml_version,
    ml_threshold: explained.ml_threshold,
    mode: explained.mode,
  };
}

/** A long text, masked elsewhere; undefined for a short one. */
async function maskLong(text: string, tenant: string, longTexts: LongTexts | undefined): Promise<string | undefined> {
  if (longTexts === undefined || text.length <= LONG) return undefined;
  return (await longTexts.run({ kind: 'mask', text }, { tenant })) as string;
}

/** A call that was screened. */
export interface ScreenedCall {
  readonly time: Date;
  readonly accountId: string;
  /** Null for a call from the dashboard's playground. */
  readonly keyId: string | null;
  readonly traceId: string | undefined;
  readonly run: RecordedRun | undefined;
  /** The text that was screened; spans of the explanation are in it. */
  readonly text: string;
  /** Where it was masked already. */
  readonly maskedText: string | undefined;
  /** Whether the caller sent another JSON value than a string. */
  readonly json: boolean;
  readonly task: string | undefined;
  readonly keep: Keep;
  readonly verdict: Verdict;
  readonly explanation: Explanation;
  readonly settings: ReplaySettings;
}

/** The evidence of a call, with as much of the text as the account keeps. */
function buildRecord(call: ScreenedCall): EvidenceRecord {
  const { verdict, explanation } = call;
  const kept = (finding: ExplainedFinding): EvidenceFinding => keptFinding(finding, call.keep);
  return {
    id: verdict.evidence_id,
    time: call.time.toISOString(),
    account_id: call.accountId,
    key_id: call.keyId,
    ...(call.traceId === undefined ? {} : { trace_id: call.traceId }),
    ...(call.run === undefined ? {} : { run: call.run }),
    input: keepInput(call.text, call.json, call.keep, call.maskedText),
    verdict,
    channel: explanation.channel,
    ...(call.task ? { task: keepText(call.task, call.keep) } : {}),
    router_level: explanation.router_level,
    rules: explanation.rules,
    model: explanation.model,
    findings: explanation.findings.map(kept),
    shadow_findings: explanation.shadow_findings.map(kept),
    unseen: explanation.unseen,
    settings: call.settings,
    replay_digest: replayDigest(verdict),
    label: null,
  };
}

/** Decoded text is kept only where the text itself is. */
function keptFinding(finding: ExplainedFinding, keep: Keep): EvidenceFinding {
  const { excerpt: _excerpt, read_as: reading, ...rest } = finding;
  return keep === 'whole' && reading !== undefined ? { ...rest, read_as: reading } : rest;
}

const { modelLength, modelViews, modelViewLength, modelViewMinLength, modelWindows } = DEFAULT_LIMITS;
const limits: RecordedLimits = { modelLength, modelViews, modelViewLength, modelViewMinLength, modelWindows };

/** The bounds that decide what the model reads; null where none runs. The service has the engine's own. */
export function recordedLimits(mode: Mode): RecordedLimits | null {
  return mode === 'rules' ? null : limits;
}
