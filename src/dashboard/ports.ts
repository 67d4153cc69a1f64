import type { Channel } from '../engine/channel.js';
import { PortcullisError } from '../engine/errors.js';
import type { Overlay } from '../engine/rules/pack/overlay-schema.js';
import type { Rule } from '../engine/rules/types.js';
import type { Mode } from '../engine/verdict.js';
import type { EvidenceLabel, EvidenceRecord, ReplayReport } from '../evidence/evidence-record.js';
import type { FlowReport } from '../policy/run/flow-report.js';
import type { WrittenPolicy } from '../policy/run/written-policy.js';
import type { OverlayVersion } from '../store/account-store.js';
import type { EvidenceFilter, EvidencePage, VersionCount } from '../store/evidence-store.js';
import type { Role } from '../store/user-store.js';

export type { ReplayReport, Role };
/** A reader's judgement of a verdict. */
export type Label = EvidenceLabel;

export interface Member {
  readonly id: string;
  readonly accountId: string;
  readonly email: string;
  readonly role: Role;
}

export interface AccountName {
  readonly id: string;
  readonly name: string;
}

/** Session of the reader. Without a member, the page shows the sign-in form. */
export interface SessionResponse {
  readonly member: Member | null;
  /** Goes with every change. */
  readonly csrf: string | null;
  readonly signUp: boolean;
  readonly accounts: readonly AccountName[];
}

/** An invitation that waits. Its token is in one answer only, the one that made it. */
export interface InvitationListing {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  /** Milliseconds since 1970. */
  readonly ends: number;
}

/** A key without its secret. Times in milliseconds since 1970. */
export interface KeyListing {
  readonly id: string;
  readonly name: string;
  /** The last four characters of the secret. */
  readonly hint: string;
  readonly created: number;
  readonly lastUsed: number | null;
  /** When it stops, or stopped: the end of a rotation's grace, or the moment of revocation. */
  readonly ends: number | null;
  /** The key that a rotation put in its place. */
  readonly replacedBy: string | null;
}

/** An evidence record, as the dashboard shows and exports it. */
export type RecordView = EvidenceRecord;

/** Filter of records; what is left out filters nothing. */
export type RecordFilter = EvidenceFilter;

/** A page of records, newest first. */
export type RecordPage = EvidencePage;

/** Values that calls of runs carried from data. */
export interface FlowsResponse {
  /** With 500 rows at most. */
  readonly report: FlowReport;
  readonly moreRows: number;
  /** Calls of runs that were read. */
  readonly checked: number;
  /** False where the period has more records than one response reads. */
  readonly isWhole: boolean;
}

/** The account's policy for values that calls carry from data. */
export interface FlowPolicyState {
  /** Null where the account has none: a guard's defaults decide. */
  readonly policy: WrittenPolicy | null;
  /** 16 hex digits, equal for equal policies. */
  readonly version: string;
}

export interface TimeStep {
  /** Start, milliseconds since 1970. */
  readonly time: number;
  readonly calls: number;
  readonly blocks: number;
  readonly modelErrors: number;
  /** Milliseconds, within 5 %; null where there was no call. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
}

export interface Activity {
  readonly steps: readonly TimeStep[];
  /** Most blocks first. */
  readonly byRule: readonly { readonly rule: string; readonly blocks: number }[];
}

/** All calls that one pair of versions answered. */
export type VersionTotals = Omit<VersionCount, 'rule'>;

export type RulePart = Pick<VersionTotals, 'blocks' | 'falseAlarms' | 'missedAttacks'>;

/** The newest pair of versions against the one before. */
export interface VersionChange {
  readonly before: VersionTotals;
  readonly after: VersionTotals;
  /** Those whose share of blocks moved most first. */
  readonly rules: readonly { readonly rule: string; readonly before: RulePart; readonly after: RulePart }[];
}

/** A plan of the operator's file. */
export interface PlanListing {
  readonly id: string;
  readonly title: string;
  readonly callsPerMonth: number;
  readonly trialDays: number | null;
}

export interface AccountState {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanListing;
  /** Milliseconds since 1970; null outside a trial. */
  readonly trialEnds: number | null;
  /** In a trial: since it began. */
  readonly usedThisMonth: number;
  readonly overageLeft: number;
  /** Milliseconds since 1970: when the month turns, in UTC. */
  readonly monthEnds: number;
}

export interface PlaygroundCall {
  readonly input: string;
  readonly channel?: Channel | undefined;
  readonly task?: string | undefined;
}

export type PlaygroundAnswer =
  | { readonly outcome: 'answered'; readonly record: RecordView }
  | {
      readonly outcome: 'refused';
      readonly code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED' | 'OVERLOADED';
      readonly error: string;
    };

export interface DashboardService {
  /** Screens, counts and records like any call of the account. */
  readonly playground: (accountId: string, asked: PlaygroundCall) => Promise<PlaygroundAnswer>;
  /** By the versions recorded, or by those that run now. */
  readonly replay: (record: RecordView, against: 'recorded' | 'current') => Promise<ReplayReport>;
  /** Versions that the server runs, without the overlays of accounts. */
  readonly setting: () => ServerSetting;
  /** Reads an overlay and gives the version of the rules with it. @throws PackError, OverlayError, OverloadedError */
  readonly parseOverlay: (
    accountId: string,
    source: string,
  ) => Promise<{ readonly overlay: Overlay; readonly rulesVersion: string }>;
  /** Previews the changes of an overlay. Rejects with an `OverloadedError` while another one runs. */
  readonly preview: (accountId: string, overlay: Overlay) => Promise<OverlayPreview>;
}

/** Thrown for an overlay that can be read but isn't accepted. */
export class OverlayError extends PortcullisError {
  override readonly name = 'OverlayError';
  /** `OVERLAY_TOO_COSTLY`: it would take too much of every call. `OPERATING_POINT_UNKNOWN`: the model has no such point. */
  readonly code: 'OVERLAY_TOO_COSTLY' | 'OPERATING_POINT_UNKNOWN';

  constructor(code: OverlayError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface DashboardWebhooks {
  /** Returns the problem with a URL; undefined if there is none. */
  readonly urlProblem: (url: string) => string | undefined;
  /** JSON of a message that says nothing. */
  readonly testBody: (accountId: string) => string;
}

/** Thresholds of a server, which count unless an account's overlay says otherwise. */
export interface ServerSetting {
  readonly mode: Mode;
  readonly rulesVersion: string;
  readonly rulesThreshold: number;
  /** `off` without a model. */
  readonly mlVersion: string;
  /** Of a text of an unknown channel. */
  readonly mlThreshold: number;
  readonly mlThresholds: Readonly<Record<Channel, number>>;
  /** Null where the threshold was given as a number, and without a model. */
  readonly operatingPoint: string | null;
  /** Names of the model's operating points; none without a model. */
  readonly operatingPoints: readonly string[];
}

/** The present state of an account's overlay, and its versions. */
export interface OverlayState {
  readonly server: ServerSetting;
  /** Newest first; the first one is in force. */
  readonly versions: readonly Omit<OverlayVersion, 'overlay'>[];
}

/** Two counts: under the present overlay, and under the one that is tried. */
export interface NowAndDraft {
  readonly now: number;
  readonly draft: number;
}

/** A call that another overlay would decide differently. */
export interface ChangedVerdict extends Pick<RecordView, 'id' | 'time' | 'label'> {
  readonly now: { readonly verdict: 'allow' | 'block'; readonly rule: string };
  readonly draft: { readonly verdict: 'allow' | 'block'; readonly rule: string };
}

/** Effect of an overlay on the newest calls of an account and on the marked ones. */
export interface OverlayPreview {
  /** Calls that were screened with it. */
  readonly screened: number;
  /** Calls whose text wasn't kept whole, or beyond what a preview reads. */
  readonly unread: number;
  readonly blocks: NowAndDraft;
  readonly marks: {
    readonly benign: number;
    readonly attacks: number;
    /** From the first marked call to the last; at least 1, 0 where nothing is marked. */
    readonly days: number;
    readonly falsePositives: NowAndDraft;
    readonly missed: NowAndDraft;
  };
  /** At most 50. */
  readonly changed: readonly ChangedVerdict[];
  readonly moreChanged: number;
}

/** Sums over a period. */
export type ActivityTotals = Pick<TimeStep, 'calls' | 'blocks' | 'modelErrors'>;

/** Notices that may need attention on every page. */
export interface StatusResponse {
  readonly account: AccountState;
  /** Calls of the last two clock hours, and those whose model failed. */
  readonly model: { readonly calls: number; readonly errors: number };
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface RuleListing
  extends Pick<Rule, 'id' | 'title' | 'severity' | 'status' | 'score' | 'tags' | 'languages'> {
  readonly blocks: number;
  /** Those of them that members marked as false positives. */
  readonly falsePositives: number;
}

export interface RuleDetail extends RuleListing, Pick<Rule, 'description' | 'version' | 'paranoia' | 'references'> {
  readonly examples: {
    readonly positive: readonly { readonly text: string }[];
    readonly negative: readonly { readonly text: string; readonly why: string }[];
  };
  readonly knownFalsePositives: readonly string[];
}

/** Results of the members' marks for the threshold of the rules. */
export interface ReviewResult {
  readonly marks: Readonly<Record<Label, number>>;
  /** From the first marked call to the last; at least 1, 0 where nothing is marked. */
  readonly days: number;
  readonly threshold: number;
  /** By threshold, the present one among them. */
  readonly points: readonly {
    readonly threshold: number;
    /** Marked benign calls at or above it. */
    readonly falsePositives: number;
    /** Marked attacks below it. */
    readonly missed: number;
  }[];
}
