import { Command } from 'commander';
import type { ApiKey } from '../../store/account-store.js';
import type { Store } from '../../store/store.js';
import { CliError } from '../terminal.js';
import { noteChange, printOne, printTable, type StoreFlags, shownTime, storeCommand } from './store-command.js';

const DAY_S = 86_400;

/** A key by `KEY`, or `ACCOUNT KEY`; by id or by its secret. @throws CliError */
async function findKey(store: Store, words: readonly string[]): Promise<ApiKey> {
  const [first, second, third] = words;
  if (first === undefined || third !== undefined) throw new CliError('give a key, or an account and a key');
  const word = second ?? first;
  const bySecret = word.startsWith('svc_live_') ? (await store.keys.find(word))?.key : undefined;
  const id = bySecret?.id ?? word;
  const accounts = second === undefined ? await store.accounts.list() : [await store.accounts.find(first)];
  for (const account of accounts) {
    const key = await store.keys.get(account.id, id);
    if (key) return key;
  }
  throw new CliError(
    word.startsWith('svc_live_') ? 'no such key' : `no key "${word}"; "admin key list ACCOUNT" lists them`,
  );
}

const create = storeCommand(
  new Command('create')
    .description('create a key and print it; it is not shown again')
    .argument('<account>', 'id or name')
    .option('--name <name>', 'name of the key', 'admin'),
  async (store, flags: StoreFlags & { readonly name: string }, name: string) => {
    const account = await store.accounts.find(name);
    const key = await store.keys.create(account.id, flags.name);
    await noteChange(store, account.id, 'key.create', flags.name);
    printOne(flags, key, key.secret);
  },
);

function state(key: ApiKey): string {
  if (key.revokedAt !== null) return `revoked ${shownTime(key.revokedAt)}`;
  if (key.expiresAt === null) return 'works';
  return `${key.expiresAt > Date.now() ? 'works until' : 'expired'} ${shownTime(key.expiresAt)}`;
}

const list = storeCommand(
  new Command('list').description('list the keys of an account').argument('<account>', 'id or name'),
  async (store, flags, name: string) => {
    const keys = await store.keys.list((await store.accounts.find(name)).id);
    printTable(flags, keys, {
      id: (it) => it.id,
      ends: (it) => `…${it.hint}`,
      name: (it) => it.name,
      state,
      'last used': (it) => shownTime(it.lastUsedAt),
      created: (it) => shownTime(it.createdAt),
    });
  },
);

const WORDS = ['<key...>', 'the key (id or secret), or the account and the key'] as const;

const rotate = storeCommand(
  new Command('rotate')
    .description('replace a key and print the new one')
    .argument(...WORDS)
    .option('--grace <seconds>', 'how long the old key keeps working', String(DAY_S)),
  async (store, flags: StoreFlags & { readonly grace: string }, words: readonly string[]) => {
    if (!/^\d{1,9}$/.test(flags.grace)) throw new CliError('--grace takes whole seconds');
    const old = await findKey(store, words);
    const key = await store.keys.rotate(old.accountId, old.id, Number(flags.grace));
    await noteChange(store, old.accountId, 'key.rotate', old.id, { graceSeconds: flags.grace });
    printOne(flags, key, key.secret);
  },
);

const revoke = storeCommand(
  new Command('revoke').description('revoke a key immediately').argument(...WORDS),
  async (store, flags, words: readonly string[]) => {
    const old = await findKey(store, words);
    const key = await store.keys.revoke(old.accountId, old.id);
    await noteChange(store, old.accountId, 'key.revoke', old.id);
    printOne(flags, key, `${key.id}: revoked`);
  },
);

export const keyCommands: readonly Command[] = [create, list, rotate, revoke];
