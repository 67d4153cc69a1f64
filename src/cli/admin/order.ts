import { Command } from 'commander';
import type { Order } from '../../store/order-store.js';
import { printOne, printTable, shownTime } from './print.js';
import { type StoreFlags, withStore, withStoreFlags } from './store-flags.js';

const bought = ({ item }: Order): string =>
  item.kind === 'plan' ? `plan ${item.plan}` : `${item.packs} overage packs`;

const list = withStoreFlags(new Command('list').description('orders, the newest first'))
  .argument('[account]', 'id or name; all accounts without it')
  .action((name: string | undefined, flags: StoreFlags) =>
    withStore(flags, async (store) => {
      const orders = await store.orders.list(name === undefined ? undefined : (await store.accounts.find(name)).id);
      printTable(flags, orders, {
        id: (it) => it.id,
        account: (it) => it.accountId,
        item: bought,
        status: (it) => it.status,
        created: (it) => shownTime(it.createdAt),
      });
    }),
  );

const settling = (name: string, status: 'approved' | 'rejected', description: string): Command =>
  withStoreFlags(new Command(name).description(description))
    .argument('<order>', 'id')
    .action((id: string, flags: StoreFlags) =>
      withStore(flags, async (store) => {
        const order = await store.orders.settle(id, status);
        printOne(flags, order, `${order.id}: ${order.status}`);
      }),
    );

/** `portcullis admin order` */
export const orderCommand = (): Command =>
  new Command('order')
    .description('orders of plans and overage packs')
    .addCommand(list)
    .addCommand(settling('approve', 'approved', 'grant what was ordered'))
    .addCommand(settling('reject', 'rejected', 'grant nothing'));
