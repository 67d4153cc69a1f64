import { Command } from 'commander';
import { CliError } from '../terminal.js';
import { noteChange, printOne, printTable, shownTime, storeCommand } from './store-command.js';

const set = storeCommand(
  new Command('set')
    .description("change an account's plan, effective from the next call")
    .argument('<account>', 'id or name')
    .argument('<plan>', 'plan, as named in the plans file'),
  async (store, flags, name: string, plan: string) => {
    const account = await store.accounts.setPlan((await store.accounts.find(name)).id, plan);
    await noteChange(store, account.id, 'plan.set', plan);
    printOne(flags, account, `${account.id}: plan ${account.plan}`);
  },
);

const list = storeCommand(new Command('list').description('list the plans'), async (store, flags) =>
  printTable(flags, store.plans.all, {
    plan: (it) => it.name,
    'calls a month': (it) => String(it.monthlyCalls),
    'trial days': (it) => String(it.trialDays ?? '-'),
  }),
);

export const planCommands: readonly Command[] = [set, list];

const grant = storeCommand(
  new Command('grant')
    .description('grant an account extra calls, which do not expire')
    .argument('<account>', 'id or name')
    .argument('<calls>', 'a whole number'),
  async (store, flags, name: string, calls: string) => {
    if (!/^[1-9]\d{0,11}$/.test(calls)) throw new CliError(`"${calls}" is not a number of calls`);
    const account = await store.accounts.addOverage((await store.accounts.find(name)).id, Number(calls));
    await noteChange(store, account.id, 'overage.grant', calls);
    printOne(flags, account, `${account.id}: ${account.overageLeft} overage calls left`);
  },
);

export const overageCommands: readonly Command[] = [grant];

const listOrders = storeCommand(
  new Command('list')
    .description('list orders, newest first')
    .argument('[account]', 'id or name (default: all accounts)'),
  async (store, flags, name?: string) => {
    const orders = await store.orders.list(name === undefined ? undefined : (await store.accounts.find(name)).id);
    printTable(flags, orders, {
      id: (it) => it.id,
      account: (it) => it.accountId,
      item: ({ item }) => (item.kind === 'plan' ? `plan ${item.plan}` : `${item.packs} overage packs`),
      status: (it) => it.status,
      created: (it) => shownTime(it.createdAt),
    });
  },
);

function settling(name: string, status: 'approved' | 'rejected', description: string): Command {
  return storeCommand(
    new Command(name).description(description).argument('<order>', 'id'),
    async (store, flags, id: string) => {
      const order = await store.orders.settle(id, status);
      await noteChange(store, order.accountId, `order.${name}`, order.id);
      printOne(flags, order, `${order.id}: ${order.status}`);
    },
  );
}

export const orderCommands: readonly Command[] = [
  listOrders,
  settling('approve', 'approved', 'approve an order and grant what was ordered'),
  settling('reject', 'rejected', 'reject an order'),
];
