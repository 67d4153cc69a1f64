import type { Channel } from '../engine/channel.js';
import type { RouterLevel } from '../engine/decide.js';
import type { ExplainedFinding, Explanation, ModelReport } from '../engine/explain.js';
import type { EngineLimits } from '../engine/limits.js';
import type { Verdict } from '../engine/verdict.js';
import type { AskedDigests, FlowDecision } from '../policy/run/decide-flow.js';
import type { FlowGrounds } from '../policy/run/flow-policy.js';

/** Part of an input that an account keeps: all of it, with secrets masked, or a digest alone. */
export type Keep = 'whole' | 'masked' | 'hash';

/** A person's later judgement of a verdict: it was wrong (`false_alarm`, `missed_attack`), or right. */
export type EvidenceLabel = 'false_alarm' | 'missed_attack' | 'correct_block' | 'correct_allow';

/** Text as kept under the account's setting. */
export interface KeptText {
  readonly kept: Keep;
  /** Masked texts keep their length, so that spans stay aligned. Null with `hash`. */
  readonly text: string | null;
  /** Of the whole text as UTF-8, 64 lower-case hex digits; with `keyed` HMAC-SHA-256 of it, under the service's pepper. */
  readonly sha256: string;
  /** Set where the text isn't kept whole: a plain digest would give a short text away. */
  readonly keyed?: boolean | undefined;
  /** Of the whole text, UTF-16 code units. */
  readonly length: number;
}

/** Kept part of an input, for the text screened. */
export interface KeptInput extends KeptText {
  /** Whether the caller sent a JSON value that is no string; `text` is its JSON text then. */
  readonly json: boolean;
}

/** A finding without its excerpt: the span says where to look in what was kept. `read_as` is kept with whole texts only. */
export type EvidenceFinding = Omit<ExplainedFinding, 'excerpt'>;

/** The engine's bounds that decide what a model reads of a text. */
export type RecordedLimits = Pick<
  EngineLimits,
  'modelLength' | 'modelViews' | 'modelViewLength' | 'modelViewMinLength' | 'modelWindows'
>;

/** Settings that must be equal for a replay to be equal, beside the verdict's versions, mode and thresholds. */
export interface ReplaySettings {
  /** The product's version that screened. */
  readonly portcullis: string;
  readonly rules_threshold: number;
  readonly paranoia: number | null;
  readonly timeout_ms: number | null;
  /** Null (or absent in records of before) where no model ran. */
  readonly limits?: RecordedLimits | null | undefined;
  /** The version of the account's overlay in force; absent where it had none, and in records of before. */
  readonly overlay?: number | undefined;
  /** The model's operating point in force; null where the threshold was a number, absent without a model. */
  readonly operating_point?: string | null | undefined;
}

/** The run that a call was a part of, and what became of the values in its arguments. */
export interface RecordedRun {
  /** The caller's. */
  readonly id: string;
  readonly tool?: string | undefined;
  /** The text was allowed by itself: the input is the end of what the run read before, with the ends of the text. */
  readonly halved?: true | undefined;
  /** Of a tool's call. */
  readonly flow?: RecordedFlow | undefined;
}

/** A decision on the values in a call's arguments, with all that decided it. */
export interface RecordedFlow extends FlowDecision, FlowGrounds {
  /** Absent where the account doesn't keep whole texts: digests give short values away. */
  readonly digests?: AskedDigests | undefined;
}

/** One decision, whole: what, why, by what, reproducible. Also the shape of a line of an export. */
export interface EvidenceRecord {
  /** The verdict's `evidence_id`. */
  readonly id: string;
  /** ISO 8601 in UTC, milliseconds. */
  readonly time: string;
  readonly account_id: string;
  /** Null for a call from the dashboard's playground. */
  readonly key_id: string | null;
  /** 32 hex digits of the trace that the call was a part of; absent where there was none. */
  readonly trace_id?: string | undefined;
  /** Absent where the caller named no run. */
  readonly run?: RecordedRun | undefined;
  readonly input: KeptInput;
  readonly verdict: Verdict;
  /** `unknown` where the caller named none; records of before 1.5 say `user` there. */
  readonly channel: Channel;
  /** Task of the user, as the caller gave it; absent if it gave none. */
  readonly task?: KeptText | undefined;
  readonly router_level: RouterLevel;
  readonly rules: Explanation['rules'];
  readonly model: ModelReport;
  readonly findings: readonly EvidenceFinding[];
  readonly shadow_findings: readonly EvidenceFinding[];
  readonly unseen: Explanation['unseen'];
  readonly settings: ReplaySettings;
  /** `sha256:` and hex over all of the verdict that a replay must give again (not id and latency). */
  readonly replay_digest: string;
  readonly label: EvidenceLabel | null;
}

export interface ReplayReport {
  readonly outcome: 'identical' | 'different' | 'impossible';
  /** Differences, the reason why it can't be replayed, or parts left out of the comparison. Never quotes the input. */
  readonly notes: readonly string[];
  /** Verdict of the replay; null if it can't be replayed. */
  readonly verdict: Verdict | null;
}
