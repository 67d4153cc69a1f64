/** What is bought: packs of calls, or a plan. */
export type OrderItem =
  | { readonly kind: 'overage'; readonly packs: number }
  | { readonly kind: 'plan'; readonly plan: string };

/** A purchase. `approved` by an operator or `paid` by a provider: both grant it, once. */
export interface Order {
  /** `order_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  readonly item: OrderItem;
  readonly status: 'pending' | 'approved' | 'paid' | 'rejected';
  /** The provider's own id, e.g. of a checkout session. */
  readonly externalId: string | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
}

/** Orders. Times are milliseconds since 1970. */
export interface OrderStore {
  /** The same external id again gives the order that is there. */
  create(accountId: string, item: OrderItem, externalId?: string): Promise<Order>;
  get(id: string): Promise<Order | undefined>;
  findByExternalId(externalId: string): Promise<Order | undefined>;
  setExternalId(id: string, externalId: string): Promise<void>;
  /** Newest first; of every account where none is given (for the operator). */
  list(accountId?: string): Promise<readonly Order[]>;
  /** Settles a pending order and grants what was bought, in one transaction; again it changes nothing. */
  settle(id: string, status: 'approved' | 'paid' | 'rejected'): Promise<Order>;
  /** True the first time that an event of a provider is seen. Forget it where its work failed. */
  seeEvent(provider: string, eventId: string): Promise<boolean>;
  forgetEvent(provider: string, eventId: string): Promise<void>;
}
