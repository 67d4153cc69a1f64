import { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { printOne, printTable } from './print.js';
import { type StoreFlags, withStore, withStoreFlags } from './store-flags.js';

const set = withStoreFlags(new Command('set').description("change an account's plan; counts from the next call on"))
  .argument('<account>', 'id or name')
  .argument('<plan>')
  .action((name: string, plan: string, flags: StoreFlags) =>
    withStore(flags, async (store) => {
      const account = await store.accounts.setPlan((await store.accounts.find(name)).id, plan);
      printOne(flags, account, `${account.id}: plan ${account.plan}`);
    }),
  );

const list = withStoreFlags(new Command('list').description('the plans there are')).action((flags: StoreFlags) =>
  withStore(flags, async (store) =>
    printTable(flags, store.plans.all, {
      plan: (it) => it.name,
      'calls a month': (it) => String(it.monthlyCalls),
      'trial days': (it) => String(it.trialDays ?? '-'),
    }),
  ),
);

/** `portcullis admin plan` */
export const planCommand = (): Command => new Command('plan').description('plans').addCommand(set).addCommand(list);

const grant = withStoreFlags(
  new Command('grant').description('give an account calls beyond its plan; they do not expire'),
)
  .argument('<account>', 'id or name')
  .argument('<calls>', 'a whole number')
  .action((name: string, calls: string, flags: StoreFlags) =>
    withStore(flags, async (store) => {
      if (!/^[1-9]\d{0,11}$/.test(calls)) throw new CliError(`"${calls}" is no number of calls`);
      const account = await store.accounts.addOverage((await store.accounts.find(name)).id, Number(calls));
      printOne(flags, account, `${account.id}: ${account.overageLeft} bought calls left`);
    }),
  );

/** `portcullis admin overage` */
export const overageCommand = (): Command =>
  new Command('overage').description('calls beyond the plan').addCommand(grant);
