import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { errorCode } from '../../engine/errors.js';
import { emailAttempts, normalizeEmail, type Role } from '../../store/user-store.js';
import { choice } from '../engine-flags.js';
import { CliError } from '../terminal.js';
import { noteChange, noteUserChange, printOne, type StoreFlags, storeCommand } from './store-command.js';

interface PasswordFlags extends StoreFlags {
  readonly passwordStdin?: boolean;
}

const LEAST = 12;

/** The hash, loaded only here: its package is optional. @throws CliError */
async function hashed(password: string): Promise<string> {
  try {
    const { hashPassword } = await import('../../dashboard/api/sign-in/password-hash.js');
    return await hashPassword(password);
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND')
      throw new CliError('passwords need a package: npm install @node-rs/argon2@2');
    throw error;
  }
}

/** The password from stdin, or a fresh one of 120 random bits. */
async function readPassword({ passwordStdin }: PasswordFlags): Promise<string> {
  if (!passwordStdin) return randomBytes(15).toString('base64url');
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(Buffer.from(piece));
  const password = Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (password.length < LEAST) throw new CliError(`the password must have at least ${LEAST} characters`);
  return password;
}

function printed(flags: PasswordFlags, value: object, password: string, done: string): void {
  printOne(flags, flags.passwordStdin ? value : { ...value, password }, flags.passwordStdin ? done : password);
}

const PASSWORD_OPTION = ['--password-stdin', 'read the password from stdin instead of generating one'] as const;

const create = storeCommand(
  new Command('create')
    .description('create a user in an account and print the password')
    .argument('<email>')
    .argument('<account>', 'id or name')
    .addOption(choice('--role <role>', 'role of the user in the account', ['owner', 'analyst', 'viewer'], 'owner'))
    .option(...PASSWORD_OPTION),
  async (store, flags: PasswordFlags & { readonly role: Role }, email: string, name: string) => {
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new CliError(`"${email}" is not an e-mail address`);
    const account = await store.accounts.find(name);
    const password = await readPassword(flags);
    const user = await store.users.create(email, await hashed(password));
    await store.users.setMember(account.id, user.id, flags.role);
    await noteChange(store, account.id, 'member.create', user.email, { role: flags.role });
    const value = { id: user.id, email: user.email, accountId: account.id, role: flags.role };
    printed(flags, value, password, `${user.email}: ${flags.role} of ${account.name}`);
  },
);

const resetPassword = storeCommand(
  new Command('reset-password')
    .description('set a new password, print it, and end all sessions of the user')
    .argument('<email>')
    .option(...PASSWORD_OPTION),
  async (store, flags: PasswordFlags, email: string) => {
    const user = await store.users.findByEmail(email);
    if (!user) throw new CliError(`no user "${email}"`);
    const password = await readPassword(flags);
    await store.users.setPassword(user.id, await hashed(password));
    await noteUserChange(store, user.id, 'password.reset', user.email);
    printed(flags, { id: user.id, email: user.email }, password, `${user.email}: the password is changed`);
  },
);

const unlock = storeCommand(
  new Command('unlock')
    .description('clear failed sign-in attempts, so that the next one is not delayed')
    .argument('<email>'),
  async (store, flags, email: string) => {
    const name = normalizeEmail(email);
    const wasLocked = await store.attempts.forget(emailAttempts(email));
    for (const { id } of await store.users.allByEmail(email)) await noteUserChange(store, id, 'member.unlock', name);
    printOne(flags, { email: name, wasLocked }, `${name}: ${wasLocked ? 'unlocked' : 'had no failed attempts'}`);
  },
);

const resetSecondFactor = storeCommand(
  new Command('reset-second-factor')
    .description('remove the second factor of a user who has lost it')
    .argument('<email>'),
  async (store, flags, email: string) => {
    const users = await store.users.allByEmail(email);
    if (users.length === 0) throw new CliError(`no user "${email}"`);
    let had = false;
    for (const { id } of users) had = (await store.secondFactors.remove(id)) || had;
    const name = normalizeEmail(email);
    for (const { id } of users) await noteUserChange(store, id, 'second-factor.off', name);
    printOne(flags, { email: name, had }, `${name}: ${had ? 'the second factor is off' : 'had no second factor'}`);
  },
);

export const userCommands: readonly Command[] = [create, resetPassword, unlock, resetSecondFactor];
