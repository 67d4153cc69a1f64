import type { OrderStore } from '../../store/account-store.js';

/** Items that can be bought. */
export type Purchase =
  | { readonly kind: 'plan'; readonly plan: string }
  | { readonly kind: 'overage'; readonly packs: number };

/** Next step after an order: the reader is sent to a payment page, or an operator has to approve. */
export type OrderOutcome =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'awaits-operator'; readonly orderId: string };

/** Takes orders. */
export interface Billing {
  /** How payments are taken: by the operator, outside the service, or by Stripe. */
  readonly payment: 'operator' | 'stripe';
  /** Whether this can be ordered here. */
  readonly sells: (purchase: Purchase) => boolean;
  readonly order: (accountId: string, purchase: Purchase, email: string) => Promise<OrderOutcome>;
}

/** An order as the store keeps it. */
export interface StoredOrder {
  readonly id: string;
  readonly purchase: Purchase;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly state: 'open' | 'done' | 'declined';
}

/** Where orders are kept and carried out. */
export interface OrderBook {
  readonly open: (accountId: string, purchase: Purchase) => Promise<string>;
  readonly list: (accountId: string) => Promise<readonly StoredOrder[]>;
  /**
   * Sets the plan or adds the overage in one transaction with the note that `paymentId` was carried out.
   * False if it was already carried out: a payment counts once, however often it is reported.
   */
  readonly carryOut: (paymentId: string, accountId: string, purchase: Purchase) => Promise<boolean>;
}

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
