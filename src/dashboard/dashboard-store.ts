import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import { activityOf } from './activity-of.js';
import { changeOf } from './change-of.js';
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
    signUp: ({ accountName, email, passwordHash }) =>
      unlessRefused('STORE_CONFLICT', async () =>
        toMember(await users.signUp({ accountName, email, passwordHash, plan: 'trial' })),
      ),
    openSession: (member, expires) => sessions.create(member.id, member.accountId, expires),
    findSession: async (token) => {
      const session = await sessions.find(token);
      if (session === undefined) return undefined;
      // The membership as it is now: a member who was removed, or is a viewer now, is so at once.
      const membership = (await users.memberships(session.userId)).find((it) => it.accountId === session.accountId);
      return membership === undefined ? undefined : { member: toMember(membership), expires: session.expiresAt };
    },
    closeSession: (token) => sessions.end(token),
    switchAccount: async (token, memberId, accountId) => {
      if (!(await users.memberships(memberId)).some((it) => it.accountId === accountId)) return false;
      await sessions.switchAccount(token, accountId);
      return true;
    },
    accountsOf: async (memberId) =>
      Promise.all(
        (await users.memberships(memberId)).map(async ({ accountId: id }) => ({
          ...{ id, name: (await accounts.get(id))?.name ?? id },
        })),
      ),
    setPassword: (memberId, passwordHash) => users.setPassword(memberId, passwordHash),
    account: (id) => accountState(store, id, now()),
    settings: async (id) => (await accounts.find(id)).settings,
    changeSettings: async (id, settings) => {
      await accounts.setSettings(id, settings);
    },
    members: async (id) => (await users.members(id)).map(toMember),
    setRole: async (accountId, memberId, role) => {
      if (!(await isMember(users, accountId, memberId))) return false;
      return doneUnlessRefused('STORE_CONFLICT', () => users.setMember(accountId, memberId, role));
    },
    removeMember: async (accountId, memberId) => {
      if (!(await isMember(users, accountId, memberId))) return false;
      return doneUnlessRefused('STORE_CONFLICT', () => users.removeMember(accountId, memberId));
    },
    invite: async (accountId, email, role, expires) => (await users.invite(accountId, email, role, expires)).token,
    invitations: async (accountId) =>
      (await users.invitations(accountId)).map(({ id, email, role, expiresAt }) => ({
        ...{ id, email, role, ends: expiresAt },
      })),
    withdrawInvitation: (accountId, id) => users.withdrawInvitation(accountId, id),
    findInvitation: async (token) => {
      const found = await users.findInvitation(token);
      if (found === undefined) return undefined;
      const { email, role, accountId } = found;
      const [account, user] = await Promise.all([accounts.get(accountId), users.findByEmail(email)]);
      return { email, role, accountName: account?.name ?? '', passwordHash: user?.passwordHash };
    },
    acceptInvitation: async (token, newPasswordHash) => {
      const email = (await users.findInvitation(token))?.email;
      const user = email === undefined ? undefined : await users.findByEmail(email);
      return unlessRefused('STORE_NOT_FOUND', async () => {
        if (newPasswordHash !== undefined) return toMember(await users.join(token, newPasswordHash));
        return toMember(await users.accept(token, user?.id ?? ''));
      });
    },
    usageByMonth: async (id) =>
      (await store.usage.months(id, 24)).map(({ month, used, overageUsed }) => ({ month, calls: used + overageUsed })),
    plans: async () => store.plans.all.map(({ name }) => planListing(store, name)),
    overagePackCalls: store.plans.overagePackCalls,
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
    revokeKey: (accountId, id) => doneUnlessRefused('STORE_NOT_FOUND', () => keys.revoke(accountId, id)),
    records: (accountId, filter, cursor, limit) =>
      unlessRefused('STORE_SETTINGS', () => evidence.list(accountId, filter, cursor, limit)),
    record: (accountId, id) => evidence.get(accountId, id),
    labelRecord: (accountId, id, label) =>
      doneUnlessRefused('STORE_NOT_FOUND', () => evidence.label(accountId, id, label)),
    activity: async (accountId, from, to, stepMs) => {
      const unit = stepMs < 86_400_000 ? 'hour' : 'day';
      const [counts, latencies] = await Promise.all([
        evidence.counts(accountId, from, to, unit),
        evidence.latencies(accountId, from, to, unit),
      ]);
      return activityOf(counts, latencies, from, to, stepMs);
    },
    change: async (accountId) => changeOf(await evidence.versions(accountId)),
  };
}

async function isMember(users: Store['users'], accountId: string, memberId: string): Promise<boolean> {
  return (await users.members(accountId)).some(({ userId }) => userId === memberId);
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

async function doneUnlessRefused(code: StoreError['code'], work: () => Promise<unknown>): Promise<boolean> {
  const done = await unlessRefused(code, async () => {
    await work();
    return true;
  });
  return done === true;
}
