import type { OrderStore } from '../../store/order-store.js';
import type { OrderBook, StoredOrder } from './billing.js';

const states = { pending: 'open', approved: 'done', paid: 'done', rejected: 'declined' } as const;

/** Orders kept in the store. */
export function orderBook(orders: OrderStore): OrderBook {
  return {
    open: async (accountId, purchase) => (await orders.create(accountId, purchase)).id,
    list: async (accountId) =>
      (await orders.list(accountId)).map(
        ({ id, item, createdAt, status }): StoredOrder => ({
          ...{ id, purchase: item, time: createdAt, state: states[status] },
        }),
      ),
    carryOut: async (paymentId, accountId, purchase) => {
      // The payment's id again gives the same order, and settling grants once.
      const order = await orders.create(accountId, purchase, paymentId);
      if (order.status !== 'pending') return false;
      await orders.settle(order.id, 'paid');
      return true;
    },
  };
}
