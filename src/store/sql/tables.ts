/** The schema as Kysely knows it; `migrations.ts` makes it. Times are milliseconds since 1970, JSON is text. */
export interface Tables {
  readonly accounts: {
    readonly id: string;
    /** 1, 2, 3 ...: short, for the search index. */
    readonly number: number;
    readonly name: string;
    readonly plan: string;
    readonly trial_ends_at: number | null;
    readonly trial_used: number;
    readonly overage_left: number;
    readonly settings: string;
    readonly created_at: number;
  };
  readonly usage_months: {
    readonly account_id: string;
    readonly month: string;
    readonly used: number;
    readonly overage_used: number;
  };
  readonly api_keys: {
    readonly id: string;
    readonly account_id: string;
    readonly name: string;
    readonly hash: string;
    readonly hint: string;
    readonly created_at: number;
    readonly last_used_at: number | null;
    readonly expires_at: number | null;
    readonly revoked_at: number | null;
    readonly replaced_by: string | null;
  };
  readonly users: {
    readonly id: string;
    readonly email: string;
    readonly password_hash: string;
    readonly created_at: number;
    /** The account whose invitation made the user; null for one who signed up, or whom the operator made. */
    readonly invited_to: string | null;
    /** The account used last. */
    readonly last_account_id: string | null;
  };
  readonly members: { readonly account_id: string; readonly user_id: string; readonly role: string };
  readonly invitations: {
    readonly id: string;
    readonly account_id: string;
    readonly email: string;
    readonly role: string;
    readonly token_hash: string;
    readonly expires_at: number;
  };
  readonly sessions: {
    readonly token_hash: string;
    readonly user_id: string;
    readonly account_id: string;
    readonly created_at: number;
    readonly expires_at: number;
  };
  /** Failed attempts at a password, by a digest of whose it is or where they came from. */
  readonly attempts: {
    readonly name: string;
    readonly failures: number;
    readonly last_at: number;
    /** The next attempt counts from then on. */
    readonly free_at: number;
  };
  /** Browsers that somebody signed in from. */
  readonly devices: {
    readonly token_hash: string;
    readonly user_id: string;
    readonly created_at: number;
    readonly used_at: number;
  };
  readonly orders: {
    readonly id: string;
    readonly account_id: string;
    readonly item: string;
    readonly status: string;
    readonly external_id: string | null;
    readonly created_at: number;
    readonly settled_at: number | null;
  };
  readonly account_overlays: {
    readonly account_id: string;
    readonly number: number;
    /** YAML as it was given. */
    readonly source: string;
    /** JSON of the overlay. */
    readonly overlay: string;
    readonly note: string;
    readonly rules_version: string;
    readonly actor: string;
    readonly created_at: number;
  };
  readonly audit_log: {
    readonly id: string;
    readonly account_id: string;
    readonly at: number;
    readonly actor: string;
    readonly action: string;
    readonly target: string;
    readonly detail: string;
  };
  readonly webhooks: {
    readonly id: string;
    readonly account_id: string;
    readonly url: string;
    /** Sealed under the pepper. */
    readonly secret: string;
    /** With spaces between them. */
    readonly events: string;
    readonly created_at: number;
  };
  readonly webhook_deliveries: {
    readonly id: string;
    readonly webhook_id: string;
    readonly event: string;
    readonly body: string;
    readonly status: string;
    readonly attempts: number;
    /** When it is tried next; null once it is settled. */
    readonly due_at: number | null;
    readonly last_status: number | null;
    readonly last_error: string | null;
    readonly created_at: number;
    readonly settled_at: number | null;
  };
  readonly second_factors: {
    readonly user_id: string;
    /** Sealed under the pepper. */
    readonly secret: string;
    /** JSON: hashes of the recovery codes that are left. */
    readonly recovery: string;
    /** Null until the first code was given. */
    readonly confirmed_at: number | null;
    /** The time step of the last code taken: none works twice. */
    readonly last_step: number;
  };
  readonly seen_events: { readonly provider: string; readonly event_id: string; readonly seen_at: number };
  readonly notes: { readonly name: string; readonly value: string };
  readonly versions: {
    readonly kind: string;
    readonly version: string;
    readonly file: string;
    readonly bytes: Uint8Array;
    readonly stored_at: number;
  };
  readonly run_entries: {
    readonly account_id: string;
    readonly run: string;
    /** Of the entry within its run. */
    readonly name: string;
    readonly at: number;
    readonly bytes: number;
    readonly entry: string;
  };
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
