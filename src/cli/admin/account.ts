import { Command } from 'commander';
import type { Account } from '../../store/account-store.js';
import { CliError } from '../terminal.js';
import { noteChange, printOne, printTable, type StoreFlags, shownTime, storeCommand } from './store-command.js';

const COLUMNS: Readonly<Record<string, (account: Account) => string>> = {
  id: (it) => it.id,
  name: (it) => it.name,
  plan: (it) => it.plan,
  'trial ends': (it) => (it.plan === 'trial' ? shownTime(it.trialEndsAt) : '-'),
  'overage left': (it) => String(it.overageLeft),
  created: (it) => shownTime(it.createdAt),
};

/** A date as `2026-11-21` (midnight UTC) or with a time and a zone. @throws CliError */
function parseTime(text: string): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const withTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = day || withTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new CliError(`"${text}" is not a date: write 2026-11-21 or 2026-11-21T12:00:00Z`);
  return at;
}

const create = storeCommand(
  new Command('create')
    .description('create an account and print its id')
    .argument('<name>')
    .option('--plan <plan>', 'plan, as named in the plans file', 'trial'),
  async (store, flags: StoreFlags & { readonly plan: string }, name: string) => {
    const account = await store.accounts.create(name, flags.plan);
    await noteChange(store, account.id, 'account.create', name, { plan: flags.plan });
    printOne(flags, account, account.id);
  },
  { create: true },
);

const list = storeCommand(new Command('list').description('list all accounts'), async (store, flags) =>
  printTable(flags, await store.accounts.list(), COLUMNS),
);

const show = storeCommand(
  new Command('show')
    .description('show an account with its usage, keys and members')
    .argument('<account>', 'id or name'),
  async (store, flags, name: string) => {
    const account = await store.accounts.find(name);
    const [quota, months, keys, members] = await Promise.all([
      store.usage.quota(account.id, Date.now()),
      store.usage.months(account.id, 12),
      store.keys.list(account.id),
      store.users.members(account.id),
    ]);
    const settings = Object.entries(account.settings).map((pair) => pair.join('='));
    const facts: readonly (readonly [string, string])[] = [
      ...Object.entries(COLUMNS).map(([head, cell]) => [head, cell(account)] as const),
      ['settings', settings.join(' ')],
      ['quota', `${quota.remaining} calls left, ${quota.limit} a month`],
      ...months.map((it) => [it.month, `${it.used} calls, ${it.overageUsed} overage calls`] as const),
      ...keys.map((it) => ['key', `${it.id}  …${it.hint}  ${it.name}`] as const),
      ...members.map((it) => ['member', `${it.email}  ${it.role}`] as const),
    ];
    const text = facts.map(([head, fact]) => `${head.padEnd(12)}  ${fact}`);
    printOne(flags, { ...account, quota, months, keys, members }, text.join('\n'));
  },
);

const setTrialEnd = storeCommand(
  new Command('set-trial-end')
    .description('set the date on which a trial ends')
    .argument('<account>', 'id or name')
    .argument('<date>', '2026-11-21 (UTC) or 2026-11-21T12:00:00Z'),
  async (store, flags, name: string, date: string) => {
    const at = parseTime(date);
    const account = await store.accounts.setTrialEnd((await store.accounts.find(name)).id, at);
    await noteChange(store, account.id, 'account.trial-end', shownTime(at));
    printOne(flags, account, `${account.id}: the trial ends ${shownTime(account.trialEndsAt)}`);
  },
);

export const accountCommands: readonly Command[] = [create, list, show, setTrialEnd];
