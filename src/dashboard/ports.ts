import type { ExplainedFinding, ExplainedUnseen, ModelReport } from '../engine/explanation.js';
import type { Verdict } from '../engine/verdict.js';

/** What a member may do: an owner everything, a viewer only look. */
export type Role = 'owner' | 'viewer';
/** What retention keeps of an input. */
export type Keep = 'whole' | 'masked' | 'hash';
/** A reader's judgement of a verdict. */
export type Label = 'false_alarm' | 'missed_attack';

/** A signed-in person. Each belongs to one account. */
export interface Member {
  readonly id: string;
  readonly accountId: string;
  readonly email: string;
  readonly role: Role;
}

/** A session as it is stored; its cookie holds the id, the store only the id's SHA-256. */
export interface Session {
  readonly member: Member;
  /** Milliseconds since 1970. */
  readonly expires: number;
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
}

/** An evidence record as the dashboard shows and exports it. Spans are in the text as it was screened. */
export interface RecordView {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly keyId: string;
  readonly input: {
    readonly kept: Keep;
    /** Null where retention keeps the hash alone. Masked text has the length of the original. */
    readonly text: string | null;
    readonly sha256: string;
    /** UTF-16 code units. */
    readonly length: number;
  };
  readonly verdict: Verdict;
  readonly routerLevel: 'rules' | 'advanced' | 'deep';
  readonly rulesSide: { readonly score: number; readonly threshold: number };
  readonly findings: readonly ExplainedFinding[];
  readonly shadowFindings: readonly ExplainedFinding[];
  readonly model: ModelReport;
  readonly unseen: readonly ExplainedUnseen[];
  readonly replayDigest: string;
  readonly label: Label | null;
}

/** Which records are wanted; what is left out filters nothing. Times in milliseconds since 1970, `[from, to)`. */
export interface RecordFilter {
  readonly verdict?: 'allow' | 'block' | undefined;
  readonly rule?: string | undefined;
  readonly decidedBy?: Verdict['decided_by'] | undefined;
  readonly routerLevel?: RecordView['routerLevel'] | undefined;
  readonly keyId?: string | undefined;
  readonly label?: Label | 'none' | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Words of the kept text; empty finds all. */
  readonly text?: string | undefined;
}

/** A page of records, newest first. */
export interface RecordPage {
  readonly records: readonly RecordView[];
  /** Opaque; null on the last page. */
  readonly next: string | null;
}

/** One step of time on the overview. */
export interface TimeStep {
  /** Start, milliseconds since 1970. */
  readonly time: number;
  readonly calls: number;
  readonly blocks: number;
  readonly modelErrors: number;
  /** Milliseconds; null where there was no call. */
  readonly latencyP50: number | null;
  readonly latencyP95: number | null;
}

/** What happened in a stretch of time. */
export interface Activity {
  readonly steps: readonly TimeStep[];
  /** Most blocks first. */
  readonly byRule: readonly { readonly rule: string; readonly blocks: number }[];
  /** One a pair of versions that answered, newest first. */
  readonly versions: readonly {
    readonly rulesVersion: string;
    readonly mlVersion: string;
    /** Milliseconds since 1970. */
    readonly firstSeen: number;
    readonly calls: number;
    readonly blocks: number;
  }[];
}

/** A plan of the operator's file. */
export interface PlanListing {
  readonly id: string;
  readonly title: string;
  readonly callsPerMonth: number;
  readonly trialDays: number | null;
}

/** What an account has and has used. */
export interface AccountState {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanListing;
  /** Milliseconds since 1970; null outside a trial. */
  readonly trialEnds: number | null;
  readonly usedThisMonth: number;
  readonly overageLeft: number;
  /** Milliseconds since 1970: when the month turns, in UTC. */
  readonly monthEnds: number;
}

/** What an account's owner may set. */
export interface AccountSettings {
  readonly keep: Keep;
  /** 1..3650 */
  readonly retentionDays: number;
  readonly verdictForm: 'extended' | 'minimal';
}

/** The parts of the store that the dashboard asks. Every read and write of an account's things names the account. */
export interface DashboardStore {
  readonly findLogin: (email: string) => Promise<{ readonly member: Member; readonly passwordHash: string } | undefined>;
  /** Undefined when the e-mail is taken. */
  readonly signUp: (order: { accountName: string; email: string; passwordHash: string }) => Promise<Member | undefined>;
  readonly openSession: (idHash: string, memberId: string, expires: number) => Promise<void>;
  readonly findSession: (idHash: string) => Promise<Session | undefined>;
  readonly closeSession: (idHash: string) => Promise<void>;

  readonly account: (accountId: string) => Promise<AccountState>;
  readonly settings: (accountId: string) => Promise<AccountSettings>;
  readonly changeSettings: (accountId: string, settings: AccountSettings) => Promise<void>;
  readonly members: (accountId: string) => Promise<readonly Member[]>;
  /** Undefined when the e-mail is taken. */
  readonly addMember: (
    accountId: string,
    order: { email: string; passwordHash: string; role: Role },
  ) => Promise<Member | undefined>;
  /** Ends the member's sessions too. False when there is no such member, or it is the last owner. */
  readonly removeMember: (accountId: string, memberId: string) => Promise<boolean>;
  readonly usageByMonth: (accountId: string) => Promise<readonly { readonly month: string; readonly calls: number }[]>;
  readonly plans: () => Promise<readonly PlanListing[]>;

  readonly keys: (accountId: string) => Promise<readonly KeyListing[]>;
  readonly createKey: (accountId: string, name: string) => Promise<{ readonly id: string; readonly secret: string }>;
  /** Undefined when the account has no such live key. */
  readonly rotateKey: (
    accountId: string,
    keyId: string,
    graceSeconds: number,
  ) => Promise<{ readonly id: string; readonly secret: string } | undefined>;
  readonly revokeKey: (accountId: string, keyId: string) => Promise<boolean>;

  readonly records: (accountId: string, filter: RecordFilter, cursor: string | null, limit: number) => Promise<RecordPage>;
  readonly record: (accountId: string, id: string) => Promise<RecordView | undefined>;
  readonly labelRecord: (accountId: string, id: string, label: Label | null) => Promise<boolean>;
  readonly activity: (accountId: string, from: number, to: number, stepMs: number) => Promise<Activity>;
}

/** What a playground call gives. */
export type PlaygroundAnswer =
  | { readonly outcome: 'answered'; readonly record: RecordView }
  | {
      readonly outcome: 'refused';
      readonly code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED' | 'OVERLOADED';
      readonly error: string;
    };

/** What a replay found. */
export interface ReplayReport {
  readonly outcome: 'identical' | 'different' | 'impossible';
  /** What differs, or why it can't be replayed; empty when identical. */
  readonly notes: readonly string[];
}

/** What the service does for the dashboard. */
export interface DashboardService {
  /** Screens, counts and records like any call of the account. */
  readonly playground: (accountId: string, input: string) => Promise<PlaygroundAnswer>;
  readonly replay: (record: RecordView) => Promise<ReplayReport>;
}
