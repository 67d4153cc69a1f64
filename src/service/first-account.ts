import { randomBytes } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import type { Store } from '../store/store.js';

/** What the first run made. Password and key exist here and nowhere else. */
export interface FirstAccount {
  readonly email: string;
  readonly password: string;
  readonly key: string;
}

const NOTE = 'first-account';

/** Makes an account, its owner and a key in an empty store; undefined where that was done, by another replica too. */
export async function ensureFirstAccount(store: Store): Promise<FirstAccount | undefined> {
  if ((await store.accounts.list()).length > 0) return undefined;
  const mark = randomBytes(8).toString('hex');
  if ((await store.notes.claim(NOTE, mark)) !== mark) return undefined;
  const account = await store.accounts.create('first', 'trial');
  const email = 'owner@localhost';
  const password = randomBytes(15).toString('base64url');
  const user = await store.users.create(email, await hash(password));
  await store.users.setMember(account.id, user.id, 'owner');
  const { secret } = await store.keys.create(account.id, 'first');
  return { email, password, key: secret };
}
