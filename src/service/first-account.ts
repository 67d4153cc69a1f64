import { randomBytes } from 'node:crypto';
import type { Store } from '../store/store.js';

const CLAIM = 'first-account';
const MADE = 'first-account-made';
const SHOWN = 'first-account-shown';

/** After this time a run that claimed the making and made nothing is taken for ended, milliseconds. */
const CLAIM_MS = 20_000;

/**
 * Makes an account, its owner and a key in an empty store. Undefined where that was done, by another replica too. A run
 * that ended before it showed the secrets leaves an account that is named until a key of it was used.
 */
export async function ensureFirstAccount(
  store: FirstStore,
  now: () => number = Date.now,
): Promise<FirstAccount | UnshownAccount | undefined> {
  const accounts = await store.accounts.list();
  if (accounts.length > 0) return unshown(store);
  if (!(await claimed(store, now))) return undefined;
  const account = await store.accounts.create('default', 'trial');
  await store.notes.set(MADE, account.id);
  // Later starts do without it.
  const { hash } = await import('@node-rs/argon2');
  const password = randomBytes(15).toString('base64url');
  const user = await store.users.create(FIRST_EMAIL, await hash(password));
  await store.users.setMember(account.id, user.id, 'owner');
  const { secret } = await store.keys.create(account.id, 'default');
  return { email: FIRST_EMAIL, password, key: secret };
}

export async function markShown(store: Pick<Store, 'notes'>): Promise<void> {
  await store.notes.set(SHOWN, 'yes');
}

/** One run at a time makes the account: each claim that went stale can be followed by one other. */
async function claimed({ notes }: Pick<Store, 'notes'>, now: () => number): Promise<boolean> {
  const mine = `${randomBytes(8).toString('hex')} ${now()}`;
  for (let name = CLAIM; ; ) {
    const holder = await notes.claim(name, mine);
    if (holder === mine) return true;
    const [mark, at] = holder.split(' ');
    if (now() - Number(at ?? 0) < CLAIM_MS) return false;
    name = `${CLAIM} after ${mark}`;
  }
}

type FirstStore = Pick<Store, 'accounts' | 'users' | 'keys' | 'notes'>;

async function unshown({ accounts, users, keys, notes }: FirstStore): Promise<UnshownAccount | undefined> {
  if ((await notes.get(CLAIM)) === undefined || (await notes.get(SHOWN)) !== undefined) return undefined;
  const id = (await notes.get(MADE)) ?? (await accounts.list())[0]?.id;
  if (id === undefined || (await keys.list(id)).some(({ lastUsedAt }) => lastUsedAt !== null)) return undefined;
  return { account: id, hasOwner: (await users.members(id)).length > 0 };
}

export const FIRST_EMAIL = 'owner@localhost';

/** The account that the first run made. Password and key exist here and nowhere else. */
export interface FirstAccount {
  readonly email: string;
  readonly password: string;
  readonly key: string;
}

/** A first account whose secrets were never shown: the process ended before that. */
export interface UnshownAccount {
  /** Its id. */
  readonly account: string;
  readonly hasOwner: boolean;
}
