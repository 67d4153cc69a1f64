import type { Account, ApiKey, MonthUsage, Order, OverlayVersion } from '../account-store.js';
import type { AuditEntry, Webhook, WebhookDelivery } from '../operations-store.js';
import type { Invitation, Member, Session, User } from '../user-store.js';

/** The schema as Kysely's `CamelCasePlugin` names it; `migrate.ts` makes it. Times are milliseconds since 1970. */
export interface Tables {
  readonly accounts: Omit<Account, 'settings' | 'overlay' | 'flowPolicy'> & {
    /** 1, 2, 3 ...: short, for the search index. */
    readonly number: number;
    /** JSON: the settings, the overlay in force, and the policy of calls. */
    readonly settings: string;
  };
  readonly usageMonths: MonthUsage & { readonly accountId: string };
  readonly apiKeys: ApiKey & { readonly hash: string };
  readonly users: User;
  readonly members: Omit<Member, 'email'>;
  readonly invitations: Invitation & { readonly tokenHash: string };
  readonly sessions: Session & { readonly tokenHash: string };
  /** Failed attempts at a password, by a digest of whose it is or where they came from. */
  readonly attempts: {
    readonly name: string;
    readonly failures: number;
    readonly lastAt: number;
    /** The next attempt counts from then on. */
    readonly freeAt: number;
  };
  /** Browsers that somebody signed in from. */
  readonly devices: {
    readonly tokenHash: string;
    readonly userId: string;
    readonly createdAt: number;
    readonly usedAt: number;
  };
  /** `item`: JSON. */
  readonly orders: Omit<Order, 'item'> & { readonly item: string };
  /** `overlay`: JSON. */
  readonly accountOverlays: Omit<OverlayVersion, 'overlay'> & { readonly accountId: string; readonly overlay: string };
  /** `detail`: JSON. */
  readonly auditLog: Omit<AuditEntry, 'detail'> & { readonly detail: string };
  /** `events` with spaces between them; `secret` sealed under the pepper. */
  readonly webhooks: Omit<Webhook, 'events'> & { readonly events: string; readonly secret: string };
  readonly webhookDeliveries: WebhookDelivery;
  readonly secondFactors: {
    readonly userId: string;
    /** Sealed under the pepper. */
    readonly secret: string;
    /** JSON: hashes of the recovery codes that are left. */
    readonly recovery: string;
    /** Null until the first code was given. */
    readonly confirmedAt: number | null;
    /** The time step of the last code taken: none works twice. */
    readonly lastStep: number;
  };
  readonly seenEvents: { readonly provider: string; readonly eventId: string; readonly seenAt: number };
  readonly notes: { readonly name: string; readonly value: string };
  readonly versions: {
    readonly kind: string;
    readonly version: string;
    readonly file: string;
    readonly bytes: Uint8Array;
    readonly storedAt: number;
  };
  readonly runEntries: {
    readonly accountId: string;
    readonly run: string;
    /** Of the entry within its run. */
    readonly name: string;
    readonly at: number;
    readonly bytes: number;
    readonly entry: string;
  };
}

/** The tables of evidence, by the names of their columns. */
export interface EvidenceTables {
  readonly evidence: EvidenceRow;
  readonly evidence_hours: {
    readonly account_id: string;
    readonly hour: number;
    readonly rule: string;
    readonly calls: number;
    readonly blocks: number;
    readonly model_errors: number;
    readonly latency_sum: number;
    readonly latency_max: number;
  };
  readonly evidence_latencies: {
    readonly account_id: string;
    readonly hour: number;
    readonly step: number;
    readonly calls: number;
  };
  readonly evidence_versions: {
    readonly account_id: string;
    readonly rules_version: string;
    readonly ml_version: string;
    readonly rule: string;
    readonly first_at: number;
    readonly last_at: number;
    readonly calls: number;
    readonly blocks: number;
    readonly false_alarms: number;
    readonly missed_attacks: number;
  };
  /** Embedded alone: one row, `seq` of the last record that the search index has gone past. */
  readonly evidence_indexed: { readonly seq: number };
  /** Embedded alone: records before that one that it doesn't have yet. */
  readonly evidence_unsearched: { readonly seq: number };
}

/** A record as it lies in the database. */
export interface EvidenceRow {
  /** Milliseconds since 1970 times 1024, and a counter: the order of lists. Below 2^53 until the year 2248. */
  readonly seq: number;
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string | null;
  readonly verdict: string;
  readonly rule: string;
  readonly decided_by: string;
  readonly router_level: string;
  /** Null in a record of before 1.5 until the first start after the upgrade. */
  readonly channel: string | null;
  readonly label: string | null;
  /** The id of the caller's run, where it named one. */
  readonly run: string | null;
  /** The text that retention kept, as far as a text column can hold it. */
  readonly text: string | null;
  /** Everything else as JSON. */
  readonly record: string;
}

/** The columns of a record, in the order of statements. */
export const EVIDENCE_COLUMNS: readonly (keyof EvidenceRow)[] = [
  ...(['seq', 'id', 'account_id', 'key_id', 'verdict', 'rule', 'decided_by', 'router_level'] as const),
  ...(['channel', 'label', 'text', 'record', 'run'] as const),
];
