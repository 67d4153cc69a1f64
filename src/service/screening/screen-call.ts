import { newEvidenceId } from '../../adapters/evidence-id.js';
import { packageVersion } from '../../adapters/package-version.js';
import { type Channel, thresholdOf } from '../../engine/channel.js';
import type { EngineInfo } from '../../engine/engine-settings.js';
import type { ExplainedFinding, ExplainedVerdict, Explanation } from '../../engine/explain.js';
import { type Input, inputText, type JsonText, taskOf, toJsonText } from '../../engine/input.js';
import { DEFAULT_LIMITS } from '../../engine/limits.js';
import type { PackChange } from '../../engine/rules/types.js';
import type { Mode, Verdict } from '../../engine/verdict.js';
import type {
  EvidenceFinding,
  EvidenceRecord,
  Keep,
  RecordedLimits,
  ReplaySettings,
} from '../../evidence/evidence-record.js';
import { keepInput, keepText } from '../../evidence/keep-input.js';
import { replayDigest } from '../../evidence/replay-digest.js';
import type { RunTextLog } from '../../policy/index.js';
import { sayLogged } from '../../policy/run/pieces/run-texts.js';
import type { RunStore } from '../../store/store.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { LongTexts } from '../long-texts/long-texts.js';
import { toPlain } from '../long-texts/plain-input.js';
import type { AccountChange } from './account-overlays.js';
import {
  type AskedRun,
  type FollowedText,
  followRun,
  isFollowed,
  type RunStep,
  type ScreenedText,
  stepCost,
} from './follow-run.js';
import type { ScreeningEngine } from './ports.js';
import type { RecentVerdicts } from './recent-verdicts.js';
import { readJoints, scoreJoints } from './score-joints.js';

/** The parts that a screening call uses once its quota admits it. */
export interface CallParts {
  /** Stores a record; resolves when it is durable. */
  readonly write: (record: EvidenceRecord) => Promise<void>;
  readonly engine: ScreeningEngine;
  readonly now: () => Date;
  /** Default: no call is a part of a run. */
  readonly runs?: RunStore | undefined;
  /** Texts that runs read and that the user said in them. Default: something else looks after that. */
  readonly texts?: RunTextLog | undefined;
  /** Default: all is done in this thread. */
  readonly longTexts?: LongTexts | undefined;
  /** Default: every text is scanned. */
  readonly recent?: RecentVerdicts | undefined;
}

/** Owner of the input. `keyId` is null for a call from the dashboard's playground. */
export interface CallOwner {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly keep: Keep;
  /** Default: nothing on top of the server's own settings. */
  readonly overlay?: AccountChange | undefined;
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
export async function screenCall(parts: CallParts, owner: CallOwner, asked: AskedInput): Promise<ScreenedInput> {
  const { runs, texts } = parts;
  const { run } = asked;
  const input = typeof asked.input === 'string' ? asked.input : toJsonText(asked.input);
  const evidenceId = newEvidenceId();
  const started = performance.now();
  const joints = texts && run && (await readJoints({ ...parts, texts }, owner.accountId, run.id, asked));
  const task = asked.task ?? taskOf(joints?.said ?? []);
  const alone = await score(parts, owner, { ...asked, input, task }, evidenceId);
  const { channel } = alone.explanation;
  const isSplit = alone.verdict === 'allow' && joints !== undefined && joints.pieces.length > 0;
  const halved =
    isSplit &&
    (await scoreJoints(joints, { channel, task }, (piece, id) =>
      score(parts, owner, { input: piece, channel, task }, id),
    ));
  const explained = halved ? halved.explained : alone;
  const { explanation } = explained;
  const verdict = bareVerdict(explained, evidenceId, performance.now() - started);
  const windows = halved ? [] : explanation.model.windows;
  const said: ScreenedText = { input: toPlain(input), task: asked.task, channel, verdict, windows, keep: owner.keep };
  const followed = run === undefined ? undefined : await follow(parts, owner, run, said);
  const recorded = followed?.recorded && { ...followed.recorded, ...(halved && { halved: true as const }) };
  const screened = { input: halved ? halved.input : input, task, run: recorded };
  // What masks look for may have been cut off with the rest of the texts.
  const keep = halved && owner.keep === 'masked' ? 'hash' : owner.keep;
  const record = await recordOf(parts, { ...owner, keep }, screened, verdict, explanation);
  await parts.write(record);
  if (run !== undefined && followed !== undefined && followed.entries.length > 0)
    await runs?.add(owner.accountId, run.id, followed.entries);
  if (texts && run && channel === 'user' && verdict.verdict === 'allow')
    await sayLogged(texts, run.id, inputText(input));
  return { verdict, explanation, record };
}

async function recordOf(
  { engine, now, longTexts }: CallParts,
  { accountId, keyId, keep, overlay, traceId }: CallOwner,
  { input, task, run }: { readonly input: string | JsonText } & Pick<EvidenceRecord, 'run'> & Pick<AskedInput, 'task'>,
  verdict: Verdict,
  explanation: Explanation,
): Promise<EvidenceRecord> {
  const { channel, model } = explanation;
  const text = inputText(input);
  const maskedText = keep === 'masked' ? await maskLong(text, accountId, longTexts) : undefined;
  const kept = (finding: ExplainedFinding): EvidenceFinding => keptFinding(finding, keep);
  return {
    id: verdict.evidence_id,
    time: now().toISOString(),
    account_id: accountId,
    key_id: keyId,
    ...(traceId === undefined ? {} : { trace_id: traceId }),
    ...(run === undefined ? {} : { run }),
    input: keepInput(text, typeof input !== 'string', keep, maskedText),
    verdict,
    channel,
    ...(task ? { task: keepText(task, keep) } : {}),
    router_level: explanation.router_level,
    rules: explanation.rules,
    model,
    findings: explanation.findings.map(kept),
    shadow_findings: explanation.shadow_findings.map(kept),
    unseen: explanation.unseen,
    settings: replaySettings(engine.info, explanation, verdict.mode, overlay),
    replay_digest: replayDigest(verdict),
    label: null,
  };
}

/** Returns the engine's verdict, or in mode `rules` the recent one of the same text. */
async function score(
  parts: CallParts,
  owner: CallOwner,
  { input, channel, task }: AskedInput,
  evidenceId: string,
): Promise<ExplainedVerdict> {
  const { accountId: tenant, overlay } = owner;
  const ask = () =>
    parts.engine.score(input, { explain: true, evidenceId, tenant, channel, task, change: overlay?.change });
  if (typeof input !== 'string' || channel !== undefined || parts.engine.info.mode !== 'rules') return ask();
  return recentOr(ask, parts, owner, input, 'unknown');
}

/** The recent verdict on a text, else what the engine says. A model that failed may give its verdict the next time. */
async function recentOr(
  ask: () => Promise<ExplainedVerdict>,
  { recent }: CallParts,
  { accountId, overlay }: CallOwner,
  text: string,
  channel: Channel,
): Promise<ExplainedVerdict> {
  // Another overlay may decide otherwise.
  const asker = `${accountId} ${channel} ${overlay?.change.rulesVersion ?? ''}`;
  const known = recent?.get(asker, text);
  if (known !== undefined) return known;
  const explained = await ask();
  if (explained.decided_by !== 'ml-error-rules-fallback') recent?.put(asker, text, explained);
  return explained;
}

function replaySettings(
  info: EngineInfo,
  { rules, channel }: Explanation,
  mode: Mode,
  overlay: AccountChange | undefined,
): ReplaySettings {
  const limits = recordedLimits(mode);
  return {
    portcullis: packageVersion(),
    rules_threshold: rules.threshold,
    paranoia: null,
    timeout_ms: info.timeout_ms,
    limits,
    ...(overlay === undefined || overlay.number === null ? {} : { overlay: overlay.number }),
    ...(limits === null ? {} : { operating_point: operatingPoint(info, channel, overlay?.change) }),
  };
}

/** Returns the name of the operating point at which the model blocked, or null for a threshold that was given as a number. */
function operatingPoint(info: EngineInfo, channel: Channel, change: PackChange | undefined): string | null {
  const threshold = thresholdOf(change?.modelThreshold, channel);
  if (threshold === undefined) return info.channels[channel].operating_point;
  return typeof threshold === 'string' ? threshold : null;
}

/**
 * Returns the verdict without its explanation, in the order of its fields, with the id and the milliseconds of this call. The fields
 * are listed because copying the rest of an object is slow.
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

async function follow(
  parts: CallParts,
  owner: CallOwner,
  run: AskedRun,
  said: ScreenedText,
): Promise<FollowedText | undefined> {
  const { runs, longTexts } = parts;
  if (runs === undefined) return undefined;
  const tenant = owner.accountId;
  const isMember = isFollowed(run, said.channel);
  const read = async (): Promise<RunStep['memory']> => (isMember ? await runs.read(tenant, run.id) : undefined);
  const text: ScreenedText = { ...said, task: isMember ? await admitTask(parts, owner, said.task) : undefined };
  let memory = await read();
  for (let tries = 1; ; tries += 1) {
    const step: RunStep = { run, text, memory };
    if (longTexts === undefined || stepCost(step) <= LONG) return followRun(step);
    const followed = (await longTexts.run({ kind: 'flow', step }, { tenant })) as FollowedText;
    if (text.channel !== 'tool_call' || tries === MAX_TRIES) return followed;
    // The run may have read more while the call waited for its turn.
    const now = await read();
    if (now?.entries.join('\n') === memory?.entries.join('\n')) return followed;
    memory = now;
  }
}

/** A task as far as it may count in a run: not one that is blocked. */
async function admitTask(parts: CallParts, owner: CallOwner, task: string | undefined): Promise<string | undefined> {
  if (task === undefined) return undefined;
  // It comes with each call of the run.
  const ask = () => score(parts, owner, { input: task, channel: 'user' }, newEvidenceId());
  const { verdict } = await recentOr(ask, parts, owner, task, 'user');
  return verdict === 'allow' ? task : undefined;
}

/** Times that a long call is checked while its run goes on: one that never rests would keep it for ever. */
const MAX_TRIES = 3;

/** A long text, masked elsewhere; undefined for a short one. */
async function maskLong(text: string, tenant: string, longTexts: LongTexts | undefined): Promise<string | undefined> {
  if (longTexts === undefined || text.length <= LONG) return undefined;
  return (await longTexts.run({ kind: 'mask', text }, { tenant })) as string;
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
