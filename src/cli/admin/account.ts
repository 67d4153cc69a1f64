import { Command } from 'commander';
import type { Account } from '../../store/account-store.js';
import { CliError } from '../terminal.js';
import {
  noteChange,
  printOne,
  printTable,
  type StoreFlags,
  shownTime,
  withStore,
  withStoreFlags,
} from './store-command.js';

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

const create = withStoreFlags(new Command('create').description('create an account and print its id'))
  .argument('<name>')
  .option('--plan <plan>', 'plan, as named in the plans file', 'trial')
  .action((name: string, flags: StoreFlags & { readonly plan: string }) =>
    withStore(
      flags,
      async (store) => {
        const account = await store.accounts.create(name, flags.plan);
        await noteChange(store, account.id, 'account.create', name, { plan: flags.plan });
        printOne(flags, account, account.id);
      },
      { create: true },
    ),
  );

const list = withStoreFlags(new Command('list').description('list all accounts')).action((flags: StoreFlags) =>
  withStore(flags, async (store) => printTable(flags, await store.accounts.list(), COLUMNS)),
);

const show = withStoreFlags(new Command('show').description('show an account with its usage, keys and members'))
  .argument('<account>', 'id or name')
  .action((name: string, flags: StoreFlags) =>
    withStore(flags, async (store) => {
      const account = await store.accounts.find(name);
      const now = Date.now();
      const [quota, months, keys, members] = await Promise.all([
        store.usage.quota(account.id, now),
        store.usage.months(account.id, 12),
        store.keys.list(account.id),
        store.users.members(account.id),
      ]);
      const text = [
        ...Object.entries(COLUMNS).map(([head, cell]) => `${head.padEnd(12)}  ${cell(account)}`),
        `${'settings'.padEnd(12)}  ${Object.entries(account.settings)
          .map((pair) => pair.join('='))
          .join(' ')}`,
        `${'quota'.padEnd(12)}  ${quota.remaining} calls left, ${quota.limit} a month`,
        ...months.map(
          ({ month, used, overageUsed }) => `${month.padEnd(12)}  ${used} calls, ${overageUsed} overage calls`,
        ),
        ...keys.map((it) => `${'key'.padEnd(12)}  ${it.id}  …${it.hint}  ${it.name}`),
        ...members.map((it) => `${'member'.padEnd(12)}  ${it.email}  ${it.role}`),
      ];
      printOne(flags, { ...account, quota, months, keys, members }, text.join('\n'));
    }),
  );

const setTrialEnd = withStoreFlags(new Command('set-trial-end').description('set the date on which a trial ends'))
  .argument('<account>', 'id or name')
  .argument('<date>', '2026-11-21 (UTC) or 2026-11-21T12:00:00Z')
  .action((name: string, date: string, flags: StoreFlags) =>
    withStore(flags, async (store) => {
      const at = parseTime(date);
      const account = await store.accounts.setTrialEnd((await store.accounts.find(name)).id, at);
      await noteChange(store, account.id, 'account.trial-end', shownTime(at));
      printOne(flags, account, `${account.id}: the trial ends ${shownTime(account.trialEndsAt)}`);
    }),
  );

/** `portcullis admin account` */
export function accountCommand(): Command {
  return new Command('account')
    .description('manage accounts')
    .addCommand(create)
    .addCommand(list)
    .addCommand(show)
    .addCommand(setTrialEnd);
}
