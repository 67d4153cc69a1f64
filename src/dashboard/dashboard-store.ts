import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import { activityOf } from './activity-of.js';
import type { AccountState, DashboardStore, KeyListing, Member, PlanListing } from './ports.js';

/** The dashboard's view of the store. `now` in milliseconds since 1970. */
export function dashboardStore(store: Store, now: () => number): DashboardStore {
  const { accounts, users, sessions, keys, evidence } = store;
  return {
    findLogin: async (email) => {
      const user = await users.findByEmail(email);
      const membership = user === undefined ? undefined : (await users.memberships(user.id))[0];
      if (user === undefined || membership === undefined) return undefined;
      return { member: toMember(membership), passwordHash: user.passwordHash };
    },
    signUp: async ({ accountName, email, passwordHash }) => {
      const user = await unlessRefused('STORE_CONFLICT', () => users.create(email, passwordHash));
      if (user === undefined) return undefined;
      const account = await accounts.create(accountName, 'trial');
      await users.setMember(account.id, user.id, 'owner');
      return { id: user.id, accountId: account.id, email: user.email, role: 'owner' };
    },
    openSession: (member, expires) => sessions.create(member.id, member.accountId, expires),
    findSession: async (token) => {
      const session = await sessions.find(token);
      if (session === undefined) return undefined;
      // The membership as it is now: a member who was removed, or is a viewer now, is so at once.
      const membership = (await users.memberships(session.userId)).find((it) => it.accountId === session.accountId);
      return membership === undefined ? undefined : { member: toMember(membership), expires: session.expiresAt };
    },
    closeSession: (token) => sessions.end(token),
    account: (id) => accountState(store, id, now()),
    settings: async (id) => (await accounts.find(id)).settings,
    changeSettings: async (id, settings) => {
      await accounts.setSettings(id, settings);
    },
    members: async (id) => (await users.members(id)).map(toMember),
    addMember: async (accountId, { email, passwordHash, role }) => {
      const user = await unlessRefused('STORE_CONFLICT', () => users.create(email, passwordHash));
      if (user === undefined) return undefined;
      await users.setMember(accountId, user.id, role);
      return { id: user.id, accountId, email: user.email, role };
    },
    removeMember: async (accountId, memberId) => {
      if (!(await users.members(accountId)).some(({ userId }) => userId === memberId)) return false;
      const removed = await unlessRefused('STORE_CONFLICT', async () => {
        await users.removeMember(accountId, memberId);
        return true;
      });
      if (removed === true) await sessions.endAll(memberId);
      return removed === true;
    },
    usageByMonth: async (id) =>
      (await store.usage.months(id, 24)).map(({ month, used, overageUsed }) => ({ month, calls: used + overageUsed })),
    plans: async () => store.plans.all.map(({ name }) => planListing(store, name)),
    keys: async (id) =>
      (await keys.list(id)).map(
        ({ id: keyId, name, hint, createdAt, lastUsedAt, expiresAt, revokedAt }): KeyListing => ({
          ...{ id: keyId, name, hint, created: createdAt, lastUsed: lastUsedAt, ends: revokedAt ?? expiresAt },
        }),
      ),
    createKey: async (accountId, name) => secretOf(await keys.create(accountId, name)),
    rotateKey: async (accountId, id, graceSeconds) => {
      const key = await unlessRefused('STORE_NOT_FOUND', () => keys.rotate(accountId, id, graceSeconds));
      return key === undefined ? undefined : secretOf(key);
    },
    revokeKey: async (accountId, id) =>
      (await unlessRefused('STORE_NOT_FOUND', () => keys.revoke(accountId, id))) !== undefined,
    records: (accountId, filter, cursor, limit) => evidence.list(accountId, filter, cursor, limit),
    record: (accountId, id) => evidence.get(accountId, id),
    labelRecord: async (accountId, id, label) => {
      const labelled = await unlessRefused('STORE_NOT_FOUND', async () => {
        await evidence.label(accountId, id, label);
        return true;
      });
      return labelled === true;
    },
    activity: async (accountId, from, to, stepMs) => {
      const [counts, newest] = await Promise.all([
        evidence.counts(accountId, from, to, stepMs < 86_400_000 ? 'hour' : 'day'),
        evidence.list(accountId, { from, to }, null, 500),
      ]);
      return activityOf(counts, newest.records, from, to, stepMs);
    },
  };
}

async function accountState(store: Store, id: string, now: number): Promise<AccountState> {
  const { name, plan, trialEndsAt, overageLeft } = await store.accounts.find(id);
  const month = new Date(now).toISOString().slice(0, 7);
  const latest = (await store.usage.months(id, 1))[0];
  const listing = planListing(store, plan);
  const today = new Date(now);
  return {
    ...{ id, name, overageLeft, plan: listing },
    trialEnds: listing.trialDays === null ? null : trialEndsAt,
    usedThisMonth: latest?.month === month ? latest.used : 0,
    monthEnds: Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1),
  };
}

function planListing(store: Store, name: string): PlanListing {
  const { monthlyCalls, trialDays } = store.plans.get(name);
  return { id: name, title: name.charAt(0).toUpperCase() + name.slice(1), callsPerMonth: monthlyCalls, trialDays };
}

function toMember({ userId, accountId, email, role }: Omit<Member, 'id'> & { readonly userId: string }): Member {
  return { id: userId, accountId, email, role };
}

function secretOf({ id, secret }: { readonly id: string; readonly secret: string }): { id: string; secret: string } {
  return { id, secret };
}

/** Undefined where the store refuses with this code; every other error passes. */
async function unlessRefused<T>(code: StoreError['code'], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError && error.code === code) return undefined;
    throw error;
  }
}
