import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../../src/store/account-store.js';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';

describe.each(allDatabases)('users and orders in $name', ({ make }) => {
  let now = Date.UTC(2026, 10, 21, 12);
  let database: TestDatabase;
  let store: Store;
  let account: Account;
  beforeAll(async () => {
    database = await make();
    store = await database.open({ now: () => now });
    account = await store.accounts.create('Users', 'trial');
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  it('knows an e-mail in any case, once', async () => {
    const user = await store.users.create('Ann@Example.com', 'hash');
    expect(await store.users.findByEmail(' ann@example.COM')).toEqual(user);
    expect(await store.users.get(user.id)).toEqual(user);
    await expect(store.users.create('ANN@example.com', 'x')).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
  });

  it('keeps sessions until they end, expire, or the password changes', async () => {
    const user = await store.users.create('bob@example.com', 'hash');
    const [a, b, c] = await Promise.all(
      [1_000, 9_000, 9_000].map((ms) => store.sessions.create(user.id, account.id, now + ms)),
    );
    expect(await store.sessions.find(a ?? '')).toMatchObject({ userId: user.id, accountId: account.id });
    now += 1_000;
    expect(await store.sessions.find(a ?? '')).toBeUndefined();
    await store.sessions.end(b ?? '');
    expect(await store.sessions.find(b ?? '')).toBeUndefined();
    await store.users.setPassword(user.id, 'other');
    expect(await store.sessions.find(c ?? '')).toBeUndefined();
    expect((await store.users.get(user.id))?.passwordHash).toBe('other');
    expect(await store.sessions.find('')).toBeUndefined();
  });

  it('always leaves an owner', async () => {
    const [x, y] = await Promise.all(['x', 'y'].map((it) => store.users.create(`${it}@example.com`, 'h')));
    const shared = await store.accounts.create('Shared', 'pro');
    for (const user of [x, y]) await store.users.setMember(shared.id, user?.id ?? '', 'owner');
    const both = await Promise.allSettled([x, y].map((it) => store.users.removeMember(shared.id, it?.id ?? '')));
    expect(both.filter((it) => it.status === 'fulfilled')).toHaveLength(1);
    expect(await store.users.members(shared.id)).toHaveLength(1);
  });

  it('never makes the last owner a viewer', async () => {
    const owner = await store.users.create('last@example.com', 'h');
    const other = await store.users.create('next@example.com', 'h');
    const own = await store.accounts.create('Owned', 'pro');
    await store.users.setMember(own.id, owner.id, 'owner');
    await store.users.setMember(own.id, other.id, 'viewer');
    const demote = () => store.users.setMember(own.id, owner.id, 'viewer');
    await expect(demote()).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    await store.users.setMember(own.id, other.id, 'owner');
    await demote();
    expect((await store.users.members(own.id)).map(({ role }) => role)).toEqual(['viewer', 'owner']);
  });

  it('withdraws pending invitations when an owner is removed or loses the role, since they may have kept a link', async () => {
    const [stays, goes, viewer] = await Promise.all(
      ['stays', 'goes', 'views'].map((it) => store.users.create(`${it}@example.com`, 'h')),
    );
    const own = await store.accounts.create('Left', 'pro');
    const set = (user: typeof goes, role: 'owner' | 'viewer') => store.users.setMember(own.id, user?.id ?? '', role);
    const invite = () => store.users.invite(own.id, 'later@example.com', 'owner', now + 9_000);
    const pending = async () => (await store.users.invitations(own.id)).length;
    await set(stays, 'owner');
    await set(goes, 'owner');
    const kept = await invite();
    await set(viewer, 'viewer');
    await store.users.removeMember(own.id, viewer?.id ?? '');
    expect(await pending(), 'a viewer invites nobody').toBe(1);
    await set(goes, 'viewer');
    expect(await pending()).toBe(0);
    await expect(store.users.accept(kept.token, goes?.id ?? '')).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    await set(goes, 'owner');
    await invite();
    await store.users.removeMember(own.id, goes?.id ?? '');
    expect(await pending()).toBe(0);
  });

  it('signs up: user, account and membership, or nothing', async () => {
    const order = { email: 'New@example.com', passwordHash: 'h', accountName: 'New', plan: 'trial' };
    const member = await store.users.signUp(order);
    expect(member).toMatchObject({ email: 'new@example.com', role: 'owner' });
    expect(await store.users.memberships(member.userId)).toEqual([member]);
    const before = (await store.accounts.list()).length;
    await expect(store.users.signUp(order)).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    const wrong = { ...order, email: 'half@example.com', plan: 'nonesuch' };
    await expect(store.users.signUp(wrong)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    expect(await store.users.findByEmail('half@example.com')).toBeUndefined();
    expect(await store.accounts.list()).toHaveLength(before);
  });

  it('lets a stranger join by an invitation, once', async () => {
    const first = await store.users.invite(account.id, 'Stranger@example.com', 'viewer', now + 5_000);
    const second = await store.users.invite(account.id, 'stranger@example.com', 'owner', now + 5_000);
    const member = await store.users.join(first.token, 'hash');
    expect(member).toMatchObject({ accountId: account.id, email: 'stranger@example.com', role: 'viewer' });
    await expect(store.users.join(first.token, 'hash')).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    await expect(store.users.join(second.token, 'hash'), 'to the same account').rejects.toMatchObject({
      code: 'STORE_CONFLICT',
    });
    expect(await store.users.findInvitation(second.token)).toBeDefined();
    await store.users.withdrawInvitation(account.id, second.id);
  });

  it('makes somebody else of whoever joins by an invitation, whatever users the e-mail has', async () => {
    const theirs = await store.accounts.create('Theirs', 'pro');
    const squatted = await store.users.join(
      (await store.users.invite(theirs.id, 'vic@example.com', 'owner', now + 9_000)).token,
      'a',
    );
    const own = await store.users.signUp({
      email: 'Vic@example.com',
      passwordHash: 'b',
      accountName: 'Vic',
      plan: 'trial',
    });
    expect(own.userId).not.toBe(squatted.userId);
    expect(await store.users.memberships(own.userId)).toMatchObject([{ accountId: own.accountId }]);
    expect((await store.users.findByEmail('vic@example.com'))?.id, 'who signed up').toBe(own.userId);
    const invited = await store.users.join(
      (await store.users.invite(account.id, 'vic@example.com', 'viewer', now + 9_000)).token,
      'c',
    );
    const all = await store.users.allByEmail('VIC@example.com');
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set([own.userId, squatted.userId, invited.userId]));
    expect(all[0]).toMatchObject({ id: own.userId, invitedTo: null, passwordHash: 'b' });
    await store.users.removeMember(account.id, invited.userId).catch(() => undefined);
  });

  it('remembers the account that a user used last', async () => {
    const user = await store.users.create('two@example.com', 'h');
    const [first, second] = [await store.accounts.create('First', 'pro'), await store.accounts.create('Second', 'pro')];
    for (const { id } of [first, second]) await store.users.setMember(id, user.id, 'owner');
    const last = async () => (await store.users.get(user.id))?.lastAccountId;
    const token = await store.sessions.create(user.id, second.id, now + 9_000);
    expect(await last()).toBe(second.id);
    await store.sessions.switchAccount(token, first.id);
    expect(await last()).toBe(first.id);
  });

  it('sells no trial', async () => {
    await expect(store.orders.create(account.id, { kind: 'plan', plan: 'trial' })).rejects.toMatchObject({
      code: 'STORE_SETTINGS',
      message: expect.stringContaining("is a trial and can't be ordered"),
    });
  });

  it('invites: once, until it is too old or withdrawn', async () => {
    const guest = await store.users.create('guest@example.com', 'h');
    const invitation = await store.users.invite(account.id, 'Guest@example.com', 'viewer', now + 5_000);
    expect(await store.users.findInvitation(invitation.token)).toMatchObject({ email: 'guest@example.com' });
    expect(await store.users.accept(invitation.token, guest.id)).toMatchObject({
      role: 'viewer',
      accountId: account.id,
    });
    await expect(store.users.accept(invitation.token, guest.id)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    expect(await store.users.memberships(guest.id)).toMatchObject([{ accountId: account.id, role: 'viewer' }]);
    const late = await store.users.invite(account.id, 'l@example.com', 'owner', now + 1);
    const gone = await store.users.invite(account.id, 'g@example.com', 'owner', now + 9_000);
    await store.users.withdrawInvitation(account.id, gone.id);
    now += 1;
    for (const { token } of [late, gone]) expect(await store.users.findInvitation(token)).toBeUndefined();
    expect(await store.users.invitations(account.id)).toEqual([]);
  });

  it('grants an order once, whoever settles it how often', async () => {
    const order = await store.orders.create(account.id, { kind: 'overage', packs: 2 }, 'cs_1');
    expect(await store.orders.create(account.id, { kind: 'overage', packs: 2 }, 'cs_1')).toEqual(order);
    const settled = await Promise.all(
      (['paid', 'approved', 'paid'] as const).map((status) => store.orders.settle(order.id, status)),
    );
    expect(new Set(settled.map((it) => it.status)).size).toBe(1);
    expect((await store.accounts.find(account.id)).overageLeft).toBe(20_000);
    const again = await store.orders.create(account.id, { kind: 'overage', packs: 2 }, 'cs_1');
    expect(again.status).toBe(settled[0]?.status);
  });

  it('changes the plan by an order, not by a rejected one', async () => {
    const rejected = await store.orders.create(account.id, { kind: 'plan', plan: 'scale' });
    await store.orders.settle(rejected.id, 'rejected');
    expect((await store.accounts.find(account.id)).plan).toBe('trial');
    const order = await store.orders.create(account.id, { kind: 'plan', plan: 'pro' });
    await store.orders.settle(order.id, 'approved');
    expect((await store.accounts.find(account.id)).plan).toBe('pro');
    const statuses = new Map((await store.orders.list(account.id)).map((it) => [it.id, it.status]));
    expect([statuses.get(rejected.id), statuses.get(order.id)]).toEqual(['rejected', 'approved']);
    await expect(store.orders.create(account.id, { kind: 'plan', plan: 'gold' })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    });
    await expect(store.orders.create(account.id, { kind: 'overage', packs: 0.5 })).rejects.toMatchObject({
      code: 'STORE_SETTINGS',
    });
  });

  it('sees an event of a provider once', async () => {
    const seen = await Promise.all([1, 2, 3].map(() => store.orders.seeEvent('stripe', 'evt_1')));
    expect(seen.filter(Boolean)).toHaveLength(1);
    expect(await store.orders.seeEvent('stripe', 'evt_2')).toBe(true);
  });

  it('keeps versions and notes', async () => {
    expect(await store.versions.get('pack', '1.0.0')).toBeUndefined();
    await store.versions.put('pack', '1.0.0', 'bundle.json', new Uint8Array([0, 255, 3]));
    await store.versions.put('pack', '1.0.0', 'bundle.json', new Uint8Array([9]));
    const kept = await store.versions.get('pack', '1.0.0');
    expect([...(kept?.get('bundle.json') ?? [])]).toEqual([0, 255, 3]);
    expect(await store.versions.list('pack')).toEqual([{ version: '1.0.0', storedAt: now }]);
    expect(await store.versions.list('model')).toEqual([]);
    const claims = await Promise.all(['a', 'b', 'c'].map((it) => store.notes.claim('first', it)));
    expect(new Set(claims).size).toBe(1);
    await store.notes.set('first', 'z');
    expect(await store.notes.get('first')).toBe('z');
  });
});
