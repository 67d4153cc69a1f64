import type { EvidenceRecord } from '../../src/evidence/evidence-record.js';
import type { ScreeningStore } from '../../src/service/screening/ports.js';
import type { Account, AccountSettings, ApiKey } from '../../src/store/account-store.js';

/** A store of one process for tests of the HTTP side; what it holds can be looked at and changed. */
export interface MemoryStore extends ScreeningStore {
  readonly records: Map<string, EvidenceRecord>;
  readonly used: Map<string, number>;
  /** Newest last. */
  readonly audited: readonly Parameters<ScreeningStore['audit']['add']>[0][];
  add(
    secret: string,
    options?: Partial<{
      limit: number;
      trialEnded: boolean;
      settings: Partial<AccountSettings>;
      flowPolicy: Account['flowPolicy'];
    }>,
  ): string;
  revoke(secret: string): void;
  /** Every call to the store fails from now on. */
  fail(broken: boolean): void;
}

function memoryRuns(alive: () => Promise<void>): ScreeningStore['runs'] {
  const runs = new Map<string, Map<string, string>>();
  const texts = new Map<string, Awaited<ReturnType<ScreeningStore['runs']['readTexts']>>>();
  return {
    async read(accountId, runId) {
      await alive();
      return { seed: 7, entries: [...(runs.get(`${accountId} ${runId}`)?.values() ?? [])] };
    },
    async add(accountId, runId, entries) {
      await alive();
      const run = runs.get(`${accountId} ${runId}`) ?? new Map<string, string>();
      for (const { name, line } of entries) if (!run.has(name)) run.set(name, line);
      runs.set(`${accountId} ${runId}`, run);
    },
    async readTexts(accountId, runId, sought) {
      await alive();
      // As a database does, which keeps names under a key.
      const known = texts.get(`${accountId} ${runId}`) ?? [];
      return known.map((text) => (text.name === sought ? text : { ...text, name: `key of ${text.name}` }));
    },
    async addText(accountId, runId, text) {
      await alive();
      const run = texts.get(`${accountId} ${runId}`) ?? [];
      const others = run.filter(({ name }) => name !== text.name);
      if (text.kind === 'said' || others.length === run.length) texts.set(`${accountId} ${runId}`, [...others, text]);
    },
    purge: async () => undefined,
  };
}

interface Entry {
  readonly account: Account;
  readonly key: ApiKey;
  readonly limit: number;
  readonly trialEnded: boolean;
}

export function memoryStore(): MemoryStore {
  const entries = new Map<string, Entry>();
  const records = new Map<string, EvidenceRecord>();
  const used = new Map<string, number>();
  const audited: Parameters<MemoryStore['audit']['add']>[0][] = [];
  let broken = false;
  const alive = async (): Promise<void> => {
    if (broken) throw new Error('the database is gone, said with a secret text');
  };
  const missing = (): Promise<never> => Promise.reject(new Error('not part of this fake'));
  const quotaOf = (limit: number, calls: number) => ({
    limit,
    remaining: Math.max(0, limit - calls),
    resetSeconds: 3600,
  });
  const charge: MemoryStore['usage']['charge'] = async (accountId) => {
    await alive();
    const entry = [...entries.values()].find(({ account }) => account.id === accountId);
    if (entry === undefined) throw new Error('no such account');
    const calls = used.get(accountId) ?? 0;
    if (entry.trialEnded) return { allowed: false, code: 'TRIAL_ENDED', ...quotaOf(entry.limit, calls) };
    if (calls >= entry.limit) return { allowed: false, code: 'MONTHLY_LIMIT_REACHED', ...quotaOf(entry.limit, calls) };
    used.set(accountId, calls + 1);
    return { allowed: true, ...quotaOf(entry.limit, calls + 1) };
  };
  return {
    records,
    used,
    audited,
    add(secret, { limit = 1_000, trialEnded = false, settings = {}, flowPolicy = null } = {}) {
      const id = `acct_${String(entries.size).padStart(16, '0')}`;
      const account: Account = {
        id,
        name: id,
        plan: 'trial',
        trialEndsAt: null,
        trialUsed: 0,
        overageLeft: 0,
        settings: { verdictForm: 'extended', retentionDays: 30, keep: 'whole', ...settings },
        overlay: null,
        flowPolicy,
        createdAt: 0,
      };
      const key: ApiKey = {
        id: `key_${String(entries.size).padStart(16, '0')}`,
        accountId: id,
        name: 'test',
        hint: secret.slice(-4),
        createdAt: 0,
        lastUsedAt: null,
        expiresAt: null,
        revokedAt: null,
        replacedBy: null,
      };
      entries.set(secret, { account, key, limit, trialEnded });
      return id;
    },
    revoke: (secret) => void entries.delete(secret),
    fail(value) {
      broken = value;
    },
    keys: {
      find: async (secret) => {
        await alive();
        return entries.get(secret);
      },
      used: () => {},
      create: missing,
      get: missing,
      list: missing,
      rotate: missing,
      undoRotation: missing,
      revoke: missing,
    },
    usage: {
      charge,
      quota: missing,
      months: missing,
    },
    evidence: {
      async append(record) {
        await alive();
        records.set(record.id, record);
      },
      async appendCounted(record, at) {
        const charged = await charge(record.account_id, at);
        if (charged.allowed) records.set(record.id, record);
        return charged;
      },
      get: async (accountId, id) => {
        const record = records.get(id);
        return record?.account_id === accountId ? record : undefined;
      },
      find: async (id) => records.get(id),
      list: missing,
      iterate: () => {
        throw new Error('not part of this fake');
      },
      label: missing,
      counts: missing,
      latencies: missing,
      versions: missing,
      purge: missing,
    },
    runs: memoryRuns(alive),
    audit: {
      async add(entry) {
        await alive();
        audited.push(entry);
      },
      list: missing,
    },
    ready: async () => ({ ok: !broken, database: 'embedded', problems: broken ? ['gone'] : [] }),
  };
}
