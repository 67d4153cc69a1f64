import type { Billing, OrderBook } from './billing.js';

/** The default: an order waits until an operator approves it (`portcullis admin`). No payment is taken here. */
export function operatorBilling(orders: OrderBook): Billing {
  return {
    payment: 'operator',
    sells: () => true,
    order: async (accountId, purchase) => ({
      kind: 'awaits-operator',
      orderId: await orders.open(accountId, purchase),
    }),
  };
}
