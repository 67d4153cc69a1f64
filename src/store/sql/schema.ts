/** Tables that both databases have alike: SQLite reads BIGINT as INTEGER, and PostgreSQL has no other name for it. */
export const COMMON_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS accounts (
    id TEXT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, name TEXT NOT NULL, plan TEXT NOT NULL, trial_ends_at BIGINT,
    overage_left BIGINT NOT NULL DEFAULT 0 CHECK (overage_left >= 0), settings TEXT NOT NULL, created_at BIGINT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS accounts_name ON accounts (name)',
  `CREATE TABLE IF NOT EXISTS usage_months (
    account_id TEXT NOT NULL, month TEXT NOT NULL, used BIGINT NOT NULL DEFAULT 0, overage_used BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, month))`,
  `CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL, created_at BIGINT NOT NULL, last_used_at BIGINT, expires_at BIGINT, revoked_at BIGINT, replaced_by TEXT)`,
  'CREATE INDEX IF NOT EXISTS api_keys_account ON api_keys (account_id)',
  `CREATE TABLE IF NOT EXISTS users (
    id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password_hash TEXT NOT NULL, created_at BIGINT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS members (
    account_id TEXT NOT NULL REFERENCES accounts (id), user_id TEXT NOT NULL REFERENCES users (id), role TEXT NOT NULL,
    PRIMARY KEY (account_id, user_id))`,
  'CREATE INDEX IF NOT EXISTS members_user ON members (user_id)',
  `CREATE TABLE IF NOT EXISTS invitations (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), email TEXT NOT NULL, role TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE, expires_at BIGINT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS sessions (
    token_hash TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users (id),
    account_id TEXT NOT NULL REFERENCES accounts (id), created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS sessions_user ON sessions (user_id)',
  `CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), item TEXT NOT NULL, status TEXT NOT NULL,
    external_id TEXT UNIQUE, created_at BIGINT NOT NULL, settled_at BIGINT)`,
  'CREATE INDEX IF NOT EXISTS orders_account ON orders (account_id)',
  `CREATE TABLE IF NOT EXISTS seen_events (
    provider TEXT NOT NULL, event_id TEXT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (provider, event_id))`,
  'CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)',
  `CREATE TABLE IF NOT EXISTS evidence_hours (
    account_id TEXT NOT NULL, hour BIGINT NOT NULL, rule TEXT NOT NULL, calls BIGINT NOT NULL, blocks BIGINT NOT NULL,
    model_errors BIGINT NOT NULL, latency_sum BIGINT NOT NULL, latency_max BIGINT NOT NULL,
    PRIMARY KEY (account_id, hour, rule))`,
];

/** The distribution of latencies, and what each pair of versions decided; on both databases. */
export const VERSION_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS evidence_latencies (
    account_id TEXT NOT NULL, hour BIGINT NOT NULL, step BIGINT NOT NULL, calls BIGINT NOT NULL,
    PRIMARY KEY (account_id, hour, step))`,
  `CREATE TABLE IF NOT EXISTS evidence_versions (
    account_id TEXT NOT NULL, rules_version TEXT NOT NULL, ml_version TEXT NOT NULL, rule TEXT NOT NULL,
    first_at BIGINT NOT NULL, last_at BIGINT NOT NULL, calls BIGINT NOT NULL, blocks BIGINT NOT NULL,
    false_alarms BIGINT NOT NULL, missed_attacks BIGINT NOT NULL,
    PRIMARY KEY (account_id, rules_version, ml_version, rule))`,
];

const EVIDENCE_FIELDS = `account_id TEXT NOT NULL, key_id TEXT, verdict TEXT NOT NULL, rule TEXT NOT NULL,
  decided_by TEXT NOT NULL, router_level TEXT NOT NULL, label TEXT, text TEXT, record TEXT NOT NULL`;

const versionsTable = (bytes: string): string => `CREATE TABLE IF NOT EXISTS versions (
  kind TEXT NOT NULL, version TEXT NOT NULL, file TEXT NOT NULL, bytes ${bytes} NOT NULL, stored_at BIGINT NOT NULL,
  PRIMARY KEY (kind, version, file))`;

/** The indexes hold rare values alone: an index on a frequent value would not help a filter. */
const RARE_INDEXES: readonly string[] = [
  `CREATE INDEX IF NOT EXISTS evidence_blocked ON evidence (account_id, seq) WHERE verdict = 'block'`,
  `CREATE INDEX IF NOT EXISTS evidence_rule ON evidence (account_id, rule, seq) WHERE rule <> 'none'`,
  `CREATE INDEX IF NOT EXISTS evidence_decided ON evidence (account_id, decided_by, seq) WHERE decided_by <> 'rules'`,
  `CREATE INDEX IF NOT EXISTS evidence_level ON evidence (account_id, router_level, seq) WHERE router_level <> 'rules'`,
  'CREATE INDEX IF NOT EXISTS evidence_label ON evidence (account_id, label, seq) WHERE label IS NOT NULL',
  'CREATE INDEX IF NOT EXISTS evidence_key ON evidence (account_id, key_id, seq)',
];

/** The embedded database. */
export const embeddedTables: readonly string[] = [
  versionsTable('BLOB'),
  `CREATE TABLE IF NOT EXISTS evidence (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, ${EVIDENCE_FIELDS})`,
  'CREATE INDEX IF NOT EXISTS evidence_account ON evidence (account_id, seq)',
  ...RARE_INDEXES,
  'CREATE TABLE IF NOT EXISTS evidence_unsearched (seq INTEGER PRIMARY KEY)',
];

/** PostgreSQL. Without the extension (no rights to create it) searches work, slowly. */
export const postgresTables: readonly string[] = [
  versionsTable('BYTEA'),
  `CREATE TABLE IF NOT EXISTS evidence (seq BIGINT NOT NULL, id TEXT PRIMARY KEY, ${EVIDENCE_FIELDS})`,
  'CREATE INDEX IF NOT EXISTS evidence_account ON evidence (account_id, seq, id)',
  ...RARE_INDEXES,
  'DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS pg_trgm; EXCEPTION WHEN OTHERS THEN NULL; END $$',
  `DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN
      CREATE INDEX IF NOT EXISTS evidence_search ON evidence USING gin (text gin_trgm_ops);
    END IF;
  END $$`,
];

/** The embedded database: how far the search index has come, one row. What waited for it until now still stands in the queue. */
export const SEARCH_MARK: readonly string[] = [
  'CREATE TABLE IF NOT EXISTS evidence_indexed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL)',
  'INSERT OR IGNORE INTO evidence_indexed (one, seq) SELECT 1, coalesce(max(seq), 0) FROM evidence',
];

/**
 * The embedded database: the search index, filled from the records in the background, in place of those of 1.0 and 1.1. It
 * knows the places of terms by record alone, since what it finds is compared with the text. What is deleted is
 * merged away by `SearchIndex.rewrite` and then overwritten, as SQLite's `secure_delete` does for every freed page.
 */
export const SEARCH_INDEX: readonly string[] = [
  'DROP TABLE IF EXISTS evidence_search',
  'DROP TABLE IF EXISTS evidence_bigrams',
  'DROP TABLE IF EXISTS evidence_stretches',
  `CREATE VIRTUAL TABLE evidence_search
    USING fts5 (text, content = '', detail = none, tokenize = 'trigram case_sensitive 1')`,
  `CREATE VIRTUAL TABLE evidence_bigrams
    USING fts5 (text, content = '', detail = none, tokenize = 'unicode61 remove_diacritics 0')`,
  'DELETE FROM evidence_unsearched',
  'UPDATE evidence_indexed SET seq = 0',
];

/**
 * PostgreSQL: counts calls of several accounts in one statement and one transaction; a trial has one allowance for all its months.
 * Accounts come once each and sorted, so that two servers lock them in the same order. The result says how many of the
 * requested calls were admitted.
 */
export const CHARGE_FUNCTION = `
CREATE OR REPLACE FUNCTION portcullis_charge(ids TEXT[], wanted BIGINT[], months TEXT[], ats BIGINT[], plans JSONB)
RETURNS TABLE (id TEXT, granted BIGINT, trial_ended BOOLEAN, plan_limit BIGINT, plan_used BIGINT, bought_left BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
  i INT;
  account accounts%ROWTYPE;
  months_limit BIGINT;
  had BIGINT;
  is_trial BOOLEAN;
  by_plan BIGINT;
  by_overage BIGINT;
BEGIN
  FOR i IN 1 .. coalesce(array_length(ids, 1), 0) LOOP
    SELECT * INTO account FROM accounts a WHERE a.id = ids[i] FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    months_limit := (plans -> account.plan ->> 'calls')::BIGINT;
    SELECT u.used INTO had FROM usage_months u WHERE u.account_id = ids[i] AND u.month = months[i];
    is_trial := coalesce((plans -> account.plan ->> 'trial')::BOOLEAN, FALSE);
    had := CASE WHEN is_trial THEN account.trial_used ELSE coalesce(had, 0) END;
    by_plan := 0;
    by_overage := 0;
    trial_ended := is_trial AND account.trial_ends_at IS NOT NULL AND ats[i] >= account.trial_ends_at;
    IF months_limit IS NOT NULL AND NOT trial_ended THEN
      by_plan := greatest(0, least(wanted[i], months_limit - had));
      by_overage := least(wanted[i] - by_plan, account.overage_left);
      IF by_plan + by_overage > 0 THEN
        INSERT INTO usage_months AS u (account_id, month, used, overage_used)
        VALUES (ids[i], months[i], by_plan, by_overage)
        ON CONFLICT (account_id, month)
        DO UPDATE SET used = u.used + by_plan, overage_used = u.overage_used + by_overage;
      END IF;
      IF by_overage > 0 OR (is_trial AND by_plan > 0) THEN
        UPDATE accounts a SET overage_left = a.overage_left - by_overage,
          trial_used = a.trial_used + CASE WHEN is_trial THEN by_plan ELSE 0 END WHERE a.id = ids[i];
      END IF;
    END IF;
    id := ids[i];
    granted := by_plan + by_overage;
    plan_limit := months_limit;
    plan_used := had + by_plan;
    bought_left := account.overage_left - by_overage;
    RETURN NEXT;
  END LOOP;
END $$`;

/** One allowance for a trial: what it used until now stands in its months. */
export const TRIAL_COUNT =
  'UPDATE accounts SET trial_used = (SELECT coalesce(sum(used), 0) FROM usage_months WHERE account_id = accounts.id) WHERE trial_ends_at IS NOT NULL';

/** Sign-in, on both databases. */
export const SIGN_IN_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS attempts (
    name TEXT PRIMARY KEY, failures BIGINT NOT NULL, last_at BIGINT NOT NULL, free_at BIGINT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS devices (
    token_hash TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users (id), created_at BIGINT NOT NULL, used_at BIGINT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS devices_user ON devices (user_id)',
];

const USER_INDEXES: readonly string[] = [
  'CREATE UNIQUE INDEX users_own_email ON users (email) WHERE invited_to IS NULL',
  'CREATE UNIQUE INDEX users_invited_email ON users (email, invited_to) WHERE invited_to IS NOT NULL',
];

/** An e-mail may name several users: who accepted an invitation is somebody else than who signed up, until they say so. */
export const invitedUsers: { readonly sqlite: readonly string[]; readonly postgres: readonly string[] } = {
  // SQLite can't drop the constraint, so the table is rebuilt. @see https://sqlite.org/lang_altertable.html
  sqlite: [
    'DROP TABLE IF EXISTS users_new',
    `CREATE TABLE users_new (
      id TEXT PRIMARY KEY, email TEXT NOT NULL, password_hash TEXT NOT NULL, created_at BIGINT NOT NULL,
      invited_to TEXT, last_account_id TEXT)`,
    'INSERT INTO users_new (id, email, password_hash, created_at) SELECT id, email, password_hash, created_at FROM users',
    'DROP TABLE users',
    'ALTER TABLE users_new RENAME TO users',
    ...USER_INDEXES,
  ],
  postgres: [
    'ALTER TABLE users DROP CONSTRAINT IF EXISTS users_email_key',
    'ALTER TABLE users ADD COLUMN IF NOT EXISTS invited_to TEXT, ADD COLUMN IF NOT EXISTS last_account_id TEXT',
    ...USER_INDEXES,
  ],
};

/** The condition by which filters ask for a rare channel, word for word: neither database uses the index for another condition. */
export const RARE_CHANNEL = "channel NOT IN ('unknown', 'user')";

/** Records of the other channels, on both databases. */
export const CHANNEL_INDEX: string = `CREATE INDEX IF NOT EXISTS evidence_channel ON evidence (account_id, channel, seq) WHERE ${RARE_CHANNEL}`;

/**
 * The condition by which filters ask for records with a task, word for word. In JSON no text contains it, since quotation
 * marks within a text are escaped.
 */
export const WITH_TASK = `record LIKE '%"task":{"kept":%'`;

/** Records with a task, on both databases: where few have one, a list would read all others. */
export const TASK_INDEX: string = `CREATE INDEX IF NOT EXISTS evidence_task ON evidence (account_id, seq) WHERE ${WITH_TASK}`;

/** Memory of runs, and the records of a run, on both databases. */
export const RUN_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_entries (
    account_id TEXT NOT NULL, run TEXT NOT NULL, name TEXT NOT NULL, at BIGINT NOT NULL, bytes BIGINT NOT NULL,
    entry TEXT NOT NULL, PRIMARY KEY (account_id, run, name))`,
  'CREATE INDEX IF NOT EXISTS run_entries_at ON run_entries (account_id, at, bytes)',
];
export const RUN_INDEX =
  'CREATE INDEX IF NOT EXISTS evidence_run ON evidence (account_id, run, seq) WHERE run IS NOT NULL';

/** Overlays, the audit log, webhooks and second factors, on both databases. */
export const DESK_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS account_overlays (
    account_id TEXT NOT NULL REFERENCES accounts (id), number BIGINT NOT NULL, source TEXT NOT NULL, overlay TEXT NOT NULL,
    note TEXT NOT NULL, rules_version TEXT NOT NULL, actor TEXT NOT NULL, created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, number))`,
  `CREATE TABLE IF NOT EXISTS audit_log (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    target TEXT NOT NULL, detail TEXT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS audit_log_account ON audit_log (account_id, at, id)',
  `CREATE TABLE IF NOT EXISTS webhooks (
    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), url TEXT NOT NULL, secret TEXT NOT NULL,
    events TEXT NOT NULL, created_at BIGINT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS webhooks_account ON webhooks (account_id)',
  `CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id TEXT PRIMARY KEY, webhook_id TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL,
    attempts BIGINT NOT NULL, due_at BIGINT, last_status BIGINT, last_error TEXT, created_at BIGINT NOT NULL,
    settled_at BIGINT)`,
  'CREATE INDEX IF NOT EXISTS webhook_deliveries_due ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL',
  'CREATE INDEX IF NOT EXISTS webhook_deliveries_webhook ON webhook_deliveries (webhook_id, created_at)',
  `CREATE TABLE IF NOT EXISTS second_factors (
    user_id TEXT PRIMARY KEY, secret TEXT NOT NULL, recovery TEXT NOT NULL, confirmed_at BIGINT, last_step BIGINT NOT NULL)`,
];
