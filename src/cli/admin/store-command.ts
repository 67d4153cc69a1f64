import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openStore } from '../../store/open-store.js';
import type { AuditEntry } from '../../store/operations-store.js';
import type { Store } from '../../store/store.js';
import { CliError, textTable } from '../terminal.js';

export interface StoreFlags {
  readonly data?: string;
  readonly databaseUrl?: string;
  readonly plans?: string;
  readonly json?: boolean;
}

export function withStoreFlags(command: Command): Command {
  return command
    .option('--data <dir>', 'data folder of the embedded database (or PORTCULLIS_DATA)')
    .option('--database-url <url>', 'URL of a PostgreSQL database (or PORTCULLIS_DATABASE_URL)')
    .option('--plans <file>', 'plans file, YAML or JSON (or PORTCULLIS_PLANS)')
    .option('--json', 'print JSON');
}

function places({ data, databaseUrl }: StoreFlags): { readonly data?: string; readonly databaseUrl?: string } {
  if (data !== undefined && databaseUrl !== undefined) throw new CliError('give --data or --database-url, not both');
  if (data !== undefined) return { data };
  if (databaseUrl !== undefined) return { databaseUrl };
  const { PORTCULLIS_DATA, PORTCULLIS_DATABASE_URL } = process.env;
  if (PORTCULLIS_DATABASE_URL) return { databaseUrl: PORTCULLIS_DATABASE_URL };
  if (PORTCULLIS_DATA) return { data: PORTCULLIS_DATA };
  throw new CliError('no database given: use --data DIR or --database-url URL');
}

/** Opens the store for one command and closes it again. `create` lets a data folder be made that isn't there. */
export async function withStore(
  flags: StoreFlags,
  work: (store: Store) => Promise<void>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<void> {
  const where = places(flags);
  // A typing error in --data must not end in an empty database and "no such account".
  if (where.data !== undefined && !create && !existsSync(join(where.data, 'portcullis.db')))
    throw new CliError(
      `no Portcullis database in ${where.data}; "portcullis admin account create" or "portcullis serve" creates one`,
    );
  const store = await openStore({
    ...where,
    plansFile: flags.plans ?? process.env.PORTCULLIS_PLANS,
    pepper: process.env.PORTCULLIS_KEY_PEPPER,
  });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

/** An admin command with its own arguments and options: what it does with the store, given its flags and its arguments. */
export function storeCommand<Flags extends StoreFlags, Words extends readonly unknown[]>(
  command: Command,
  work: (store: Store, flags: Flags, ...words: Words) => Promise<void>,
  options?: { readonly create?: boolean },
): Command {
  return withStoreFlags(command).action((...given: unknown[]) => {
    // Commander appends the flags and the command.
    const flags = given.at(-2) as Flags;
    return withStore(flags, (store) => work(store, flags, ...(given.slice(0, -2) as unknown as Words)), options);
  });
}

/** Writes down in an account's audit log what an operator did; never a secret. */
export function noteChange(
  store: Store,
  accountId: string,
  action: string,
  target: string,
  detail: AuditEntry['detail'] = {},
): Promise<void> {
  return store.audit.add({ accountId, actor: 'operator', action, target, detail });
}

/** The same in every account that a user is a member of. */
export async function noteUserChange(store: Store, userId: string, action: string, email: string): Promise<void> {
  for (const { accountId } of await store.users.memberships(userId)) await noteChange(store, accountId, action, email);
}

/** A time as people and programs read it. */
export function shownTime(at: number | null): string {
  return at === null ? '-' : new Date(at).toISOString();
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One value: as JSON, or as `text`, alone on its line, for `$(...)` in a shell. */
export function printOne(flags: StoreFlags, value: unknown, text: string): void {
  line(flags.json ? JSON.stringify(value, null, 2) : text);
}

/** A table with a head; as JSON the values themselves. */
export function printTable<T>(
  flags: StoreFlags,
  values: readonly T[],
  columns: Readonly<Record<string, (value: T) => string>>,
): void {
  if (flags.json) {
    line(JSON.stringify(values, null, 2));
    return;
  }
  process.stdout.write(textTable(values, columns));
}
