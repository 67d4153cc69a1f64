import type { Order, OrderItem, OrderStore } from '../../store/account-store.js';

/** Next step after an order: the reader is sent to a payment page, or an operator has to approve. */
export type OrderOutcome =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'awaits-operator'; readonly orderId: string };

export interface Billing {
  /** Payments are taken by the operator, outside the service, or by Stripe. */
  readonly payment: 'operator' | 'stripe';
  /** Whether this can be ordered here. */
  readonly sells: (purchase: OrderItem) => boolean;
  readonly order: (accountId: string, purchase: OrderItem, email: string) => Promise<OrderOutcome>;
}

/** The default: an order waits until an operator approves it (`portcullis admin`). No payment is taken here. */
export function operatorBilling(orders: OrderStore): Billing {
  return {
    payment: 'operator',
    sells: () => true,
    order: async (accountId, purchase) => ({
      kind: 'awaits-operator',
      orderId: (await orders.create(accountId, purchase)).id,
    }),
  };
}

export interface ListedOrder {
  readonly id: string;
  readonly purchase: OrderItem;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly state: 'open' | 'done' | 'declined';
}

const states = { pending: 'open', approved: 'done', paid: 'done', rejected: 'declined' } as const;

export function toListedOrder({ id, item, createdAt, status }: Order): ListedOrder {
  return { id, purchase: item, time: createdAt, state: states[status] };
}
