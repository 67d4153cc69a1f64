/** One thing that somebody did in an account, or that a gateway of theirs noticed. It never holds a screened text, nor a secret. */
export interface AuditEntry {
  /** `audit_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** E-mail of a member, `operator`, or `key` and the name of the API key. */
  readonly actor: string;
  /** The action: `key.create`, `member.role`; what was noticed: `tool.changed`. */
  readonly action: string;
  /** The object of the action: an id or a name; may be empty. */
  readonly target: string;
  /** More about it, by name. */
  readonly detail: Readonly<Record<string, string | number>>;
}

/** Filter of entries; what is left out filters nothing. */
export interface AuditFilter {
  /** Part of the actor's e-mail. */
  readonly actor?: string | undefined;
  /** An action, or the part before its dot. */
  readonly action?: string | undefined;
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** The log of what members did. Entries are never changed. */
export interface AuditStore {
  add(entry: Omit<AuditEntry, 'id' | 'at'>): Promise<void>;
  /** Newest first; from behind the entry `after` on. `limit` 1..500. */
  list(accountId: string, filter: AuditFilter, after: string | null, limit: number): Promise<readonly AuditEntry[]>;
}

export type WebhookEvent = 'quota.low' | 'quota.exhausted' | 'blocks.spike' | 'model.failing' | 'webhook.test';

export interface Webhook {
  /** `hook_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A message to a webhook. Times are milliseconds since 1970. */
export interface WebhookDelivery {
  /** `msg_` and 16 hex digits: the same for every attempt. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: WebhookEvent;
  /** JSON. */
  readonly body: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** When it is tried next; null once it is settled. */
  readonly dueAt: number | null;
  /** HTTP status of the last attempt; null where there was no response. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
}

/** A message with all that sending it takes. */
export type DueDelivery = WebhookDelivery & {
  readonly accountId: string;
  readonly url: string;
  readonly secret: string;
};

/** Webhooks and their messages. What takes an account id reaches webhooks of that account alone. */
export interface WebhookStore {
  /** The secret is shown once. */
  create(
    accountId: string,
    url: string,
    events: readonly WebhookEvent[],
  ): Promise<Webhook & { readonly secret: string }>;
  list(accountId: string): Promise<readonly Webhook[]>;
  /** Its messages go as well. @throws StoreError STORE_NOT_FOUND */
  remove(accountId: string, id: string): Promise<void>;
  /** Newest first. @throws StoreError STORE_NOT_FOUND */
  deliveries(accountId: string, id: string, limit: number): Promise<readonly WebhookDelivery[]>;
  /** Of every account that has one. */
  all(): Promise<readonly Webhook[]>;
  /** Due at once. */
  send(webhookId: string, event: WebhookEvent, body: string): Promise<void>;
  /**
   * Takes a message that is due, so that no other server does; it is due again after `leaseMs` unless `settle` says something
   * else. Undefined where none is. `except`: accounts whose messages are left for later.
   */
  take(leaseMs: number, except?: readonly string[]): Promise<DueDelivery | undefined>;
  /** Records the outcome of an attempt. `retryAt` null: no more attempts. */
  settle(
    id: string,
    outcome: {
      readonly delivered: boolean;
      readonly status: number | null;
      readonly error: string | null;
      readonly retryAt: number | null;
    },
  ): Promise<void>;
  /** Deletes settled messages older than this. */
  purge(before: number): Promise<void>;
}
