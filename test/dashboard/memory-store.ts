import { randomBytes } from 'node:crypto';
import type { OrderBook, Purchase, StoredOrder } from '../../src/dashboard/billing/billing.js';
import type { DashboardStore, KeyListing, Member, PlanListing, RecordView } from '../../src/dashboard/ports.js';
import type { AccountSettings } from '../../src/store/account-store.js';
import { activityOf, fits } from './memory-records.js';

interface StoredKey extends KeyListing {
  readonly accountId: string;
}

const plans: readonly PlanListing[] = [
  { id: 'trial', title: 'Trial', callsPerMonth: 1000, trialDays: 14 },
  { id: 'starter', title: 'Starter', callsPerMonth: 10_000, trialDays: null },
  { id: 'pro', title: 'Pro', callsPerMonth: 250_000, trialDays: null },
];

/** A store in memory for tests of the page and its API. */
export interface MemoryStore extends DashboardStore, OrderBook {
  /** Counts a call and keeps its record. */
  readonly append: (accountId: string, record: RecordView) => void;
}

export function memoryStore(now: () => number): MemoryStore {
  const accounts = new Map<
    string,
    { name: string; plan: string; overage: number; used: number; settings: AccountSettings }
  >();
  const members = new Map<string, { member: Member; passwordHash: string }>();
  const sessions = new Map<string, { memberId: string; expires: number }>();
  const keys = new Map<string, StoredKey>();
  const records = new Map<string, RecordView[]>();
  const orders: (StoredOrder & { accountId: string })[] = [];
  const paid = new Set<string>();
  const newId = (): string => randomBytes(8).toString('hex');
  const of = (accountId: string) => {
    const account = accounts.get(accountId);
    if (account === undefined) throw new Error('no such account');
    return account;
  };
  const inAccount = (accountId: string) => [...members.values()].filter((it) => it.member.accountId === accountId);
  const makeKey = (accountId: string, name: string) => {
    const secret = `svc_live_${randomBytes(24).toString('base64url')}`;
    const key = {
      id: `key_${newId()}`,
      accountId,
      name,
      hint: secret.slice(-4),
      created: now(),
      lastUsed: null,
      ends: null,
    };
    keys.set(key.id, key);
    return { id: key.id, secret };
  };
  const liveKey = (accountId: string, id: string) => {
    const key = keys.get(id);
    return key?.accountId === accountId && (key.ends === null || key.ends > now()) ? key : undefined;
  };
  const addMember: DashboardStore['addMember'] = async (accountId, { email, passwordHash, role }) => {
    if ([...members.values()].some((it) => it.member.email === email)) return undefined;
    const member = { id: `user_${newId()}`, accountId, email, role };
    members.set(member.id, { member, passwordHash });
    return member;
  };
  const apply = (accountId: string, purchase: Purchase): void => {
    if (purchase.kind === 'plan') of(accountId).plan = purchase.plan;
    else of(accountId).overage += 10_000 * purchase.packs;
  };
  return {
    append: (accountId, record) => {
      of(accountId).used += 1;
      records.set(accountId, [record, ...(records.get(accountId) ?? [])]);
    },
    findLogin: async (email) => [...members.values()].find((it) => it.member.email === email),
    signUp: async ({ accountName, email, passwordHash }) => {
      const id = `acc_${newId()}`;
      const member = await addMember(id, { email, passwordHash, role: 'owner' });
      if (member === undefined) return undefined;
      const settings = { keep: 'whole', retentionDays: 90, verdictForm: 'extended' } as const;
      accounts.set(id, { name: accountName, plan: 'trial', overage: 0, used: 0, settings });
      return member;
    },
    openSession: async (member, expires) => {
      const token = randomBytes(32).toString('base64url');
      sessions.set(token, { memberId: member.id, expires });
      return token;
    },
    findSession: async (token) => {
      const session = sessions.get(token);
      const member = session === undefined ? undefined : members.get(session.memberId)?.member;
      return session === undefined || member === undefined ? undefined : { member, expires: session.expires };
    },
    closeSession: async (token) => void sessions.delete(token),
    account: async (id) => {
      const { name, plan, overage, used } = of(id);
      const listing = plans.find((it) => it.id === plan);
      if (listing === undefined) throw new Error('no such plan');
      const today = new Date(now());
      const monthEnds = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1);
      const trialEnds = plan === 'trial' ? now() + 9 * 86_400_000 : null;
      return { id, name, plan: listing, trialEnds, usedThisMonth: used, overageLeft: overage, monthEnds };
    },
    settings: async (id) => of(id).settings,
    changeSettings: async (id, settings) => {
      of(id).settings = settings;
    },
    members: async (id) => inAccount(id).map(({ member }) => member),
    addMember,
    removeMember: async (accountId, memberId) => {
      const ours = inAccount(accountId).map(({ member }) => member);
      const member = ours.find(({ id }) => id === memberId);
      if (member === undefined) return false;
      if (member.role === 'owner' && ours.filter(({ role }) => role === 'owner').length === 1) return false;
      return members.delete(memberId);
    },
    usageByMonth: async (id) => [{ month: new Date(now()).toISOString().slice(0, 7), calls: of(id).used }],
    plans: async () => plans,
    keys: async (accountId) => [...keys.values()].filter((key) => key.accountId === accountId),
    createKey: async (accountId, name) => makeKey(accountId, name),
    rotateKey: async (accountId, id, graceSeconds) => {
      const key = liveKey(accountId, id);
      if (key === undefined) return undefined;
      keys.set(id, { ...key, ends: now() + graceSeconds * 1000 });
      return makeKey(accountId, key.name);
    },
    revokeKey: async (accountId, id) => {
      const key = liveKey(accountId, id);
      if (key === undefined) return false;
      keys.set(id, { ...key, ends: now() });
      return true;
    },
    records: async (accountId, filter, cursor, limit) => {
      const all = (records.get(accountId) ?? []).filter((record) => fits(record, filter));
      const from = cursor === null ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
      const page = all.slice(from, from + limit);
      return { records: page, next: from + limit < all.length ? (page.at(-1)?.id ?? null) : null };
    },
    record: async (accountId, id) => records.get(accountId)?.find((record) => record.id === id),
    labelRecord: async (accountId, id, label) => {
      const ours = records.get(accountId) ?? [];
      records.set(
        accountId,
        ours.map((record) => (record.id === id ? { ...record, label } : record)),
      );
      return ours.some((record) => record.id === id);
    },
    activity: async (accountId, from, to, step) => activityOf(records.get(accountId) ?? [], from, to, step),
    open: async (accountId, purchase) => {
      const id = `ord_${newId()}`;
      orders.push({ id, accountId, purchase, time: now(), state: 'open' });
      return id;
    },
    list: async (accountId) => orders.filter((order) => order.accountId === accountId),
    carryOut: async (paymentId, accountId, purchase) => {
      if (paid.has(paymentId)) return false;
      paid.add(paymentId);
      apply(accountId, purchase);
      return true;
    },
  };
}
