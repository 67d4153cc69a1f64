import { hash } from 'node:crypto';
import { packageVersion } from '../adapters/package-version.js';
import type { Channel } from '../engine/channel.js';
import { type Input, JsonText } from '../engine/input.js';
import type { Mode, Verdict } from '../engine/verdict.js';
import { decideFlow, stateOf } from '../policy/run/decide-flow.js';
import { argumentsOf } from '../policy/run/flow.js';
import type { EvidenceRecord, RecordedLimits, ReplayReport } from './evidence-record.js';
import { NotKeptError } from './kept-versions.js';
import { replayDigest } from './replay-digest.js';

/** One call to be screened as it was then. */
export interface ReplayCall {
  readonly input: Input;
  readonly channel: Channel;
  readonly task: string | undefined;
  readonly mode: Mode;
  readonly rulesVersion: string;
  /** Null where the model isn't needed. */
  readonly mlVersion: string | null;
  readonly thresholds: { readonly rules: number; readonly model: number };
  /** Null: those of this version of the product. */
  readonly limits: RecordedLimits | null;
}

/** Screens by the versions that a call names. @throws NotKeptError */
export type ScreenAsThen = (call: ReplayCall) => Promise<Verdict>;

/** Input of a call, or a sentence that says why it is unavailable. */
export type RecordedCall = Pick<ReplayCall, 'input' | 'channel' | 'task'> | { readonly missing: string };

/** Returns the input as far as the account kept it. */
export function recordedCall({
  input,
  channel,
  task,
}: Pick<EvidenceRecord, 'input' | 'channel' | 'task'>): RecordedCall {
  const { kept, text, sha256, json } = input;
  if (kept === 'masked') return { missing: 'the account kept the input masked' };
  if (text === null || kept !== 'whole') return { missing: 'the account kept the input as its SHA-256 only' };
  if (hash('sha256', text) !== sha256) return { missing: 'the input kept no longer has the SHA-256 that was recorded' };
  if (task !== undefined && (task.text === null || hash('sha256', task.text) !== task.sha256))
    return { missing: 'the task kept no longer has the SHA-256 that was recorded' };
  return { input: json ? new JsonText(text, false) : text, channel, task: task?.text ?? undefined };
}

/**
 * Screens a record's input again by the versions and settings recorded, and says whether the verdict is the same but for
 * its id and the time it took, and for how another version of the product words the reason. If the model had no part in the
 * verdict, only the rules are run.
 */
export async function replay(record: EvidenceRecord, screen: ScreenAsThen): Promise<ReplayReport> {
  const { verdict, model, settings } = record;
  const found = recordedCall(record);
  if ('missing' in found) return impossible(found.missing);
  const byModel = model.verdict === 'block' || model.verdict === 'allow';
  try {
    const said = await screen({
      ...found,
      mode: byModel ? verdict.mode : 'rules',
      rulesVersion: verdict.rules_version,
      mlVersion: byModel ? verdict.ml_version : null,
      thresholds: { rules: record.rules.threshold, model: verdict.ml_threshold },
      limits: settings.limits ?? null,
    });
    const { decided_by, ml_version, ml_threshold, mode } = verdict;
    const now = byModel ? said : { ...said, decided_by, ml_version, ml_threshold, mode };
    // The product's code, which isn't kept, words the reason.
    const again = settings.portcullis === packageVersion() ? now : { ...now, reason: verdict.reason };
    const notes: string[] =
      model.verdict === 'error' ? ['The model gave no answer then: the rules’ part is compared.'] : [];
    const isFlowSame = sameFlow(record, found.input);
    if (!isFlowSame) notes.push('The flow of values into the arguments is decided otherwise now.');
    if (isFlowSame && replayDigest(again) === record.replay_digest)
      return { outcome: 'identical', notes, verdict: again };
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

/** Whether the values in a call's arguments are decided alike, by the digests that decided then. */
function sameFlow({ run }: EvidenceRecord, input: Input): boolean {
  const { flow } = run ?? {};
  if (flow?.digests === undefined) return true;
  const { action, rule, reason, flows } = decideFlow(stateOf(flow.digests), argumentsOf(input), flow);
  const then = { action: flow.action, rule: flow.rule, reason: flow.reason, flows: flow.flows };
  // As the record keeps it: without what is undefined.
  return JSON.stringify({ action, rule, reason, flows }) === JSON.stringify(then);
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

function differences(before: Verdict, after: Verdict): readonly string[] {
  const names = Object.keys(before).filter((name) => name !== 'evidence_id' && name !== 'latency_ms');
  return names
    .filter((name) => before[name as keyof Verdict] !== after[name as keyof Verdict])
    .map((name) => `${name}: ${before[name as keyof Verdict]} then, ${after[name as keyof Verdict]} now`);
}

/** Screens by other rules or another model. */
export type ScreenOtherwise = (call: Pick<ReplayCall, 'input' | 'channel' | 'task'>) => Promise<Verdict>;

/** Screens a record's input by other rules or another model. `identical`: the same verdict by the same rule and score. */
export async function whatIf(record: EvidenceRecord, screen: ScreenOtherwise): Promise<ReplayReport> {
  const found = recordedCall(record);
  if ('missing' in found)
    return { outcome: 'impossible', notes: [`It can’t be screened again: ${found.missing}.`], verdict: null };
  const said = await screen(found);
  const notes = differences(record.verdict, said);
  // Other versions are the point of it.
  const outcome = notes.every((note) => /^(rules|ml)_version:/.test(note)) ? 'identical' : 'different';
  return { outcome, notes, verdict: said };
}
