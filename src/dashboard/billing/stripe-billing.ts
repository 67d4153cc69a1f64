import { Stripe } from 'stripe';
import { z } from 'zod';
import type { OrderItem, OrderStore } from '../../store/account-store.js';
import type { Billing } from './billing.js';

/** Access to an operator's Stripe account. Prices are Stripe price ids (`price_…`). */
export interface StripeSettings {
  readonly secretKey: string;
  /** `whsec_…` of the webhook endpoint `/dashboard/billing/stripe`. */
  readonly webhookSecret: string;
  /** Address that Checkout sends the reader back to, e.g. `https://screen.example.com`. */
  readonly publicUrl: string;
  /** Price of each plan on sale, by plan id; monthly prices. */
  readonly planPrices: Readonly<Record<string, string>>;
  /** One-time price of one overage pack; undefined if overage is not sold. */
  readonly overagePrice: string | undefined;
}

const purchaseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('plan'), plan: z.string().min(1) }),
  z.object({ kind: z.literal('overage'), packs: z.coerce.number().int().min(1).max(100) }),
]);
const paidSchema = z.object({
  id: z.string().min(1),
  payment_status: z.string(),
  client_reference_id: z.string().min(1),
  metadata: purchaseSchema,
});
const PAID_EVENTS = new Set(['checkout.session.completed', 'checkout.session.async_payment_succeeded']);

export type WebhookOutcome = 'carried-out' | 'known' | 'not-ours' | 'bad-signature';

/** Stripe Checkout, and the webhook by which Stripe tells of payments. */
export interface StripeBilling extends Billing {
  /** `body` is the very bytes received: the signature is over them. */
  readonly webhook: (body: Buffer, signature: string) => Promise<WebhookOutcome>;
}

export function stripeBilling(settings: StripeSettings, orders: OrderStore): StripeBilling {
  const stripe = new Stripe(settings.secretKey, { telemetry: false });
  return {
    payment: 'stripe',
    sells: (purchase) => findPrice(purchase, settings) !== undefined,
    order: async (accountId, purchase, email) => {
      const price = findPrice(purchase, settings);
      if (price === undefined) throw new Error('no Stripe price is set for this');
      const back = `${settings.publicUrl}/dashboard/#/plan`;
      const session = await stripe.checkout.sessions.create({
        mode: purchase.kind === 'plan' ? 'subscription' : 'payment',
        line_items: [{ price, quantity: purchase.kind === 'overage' ? purchase.packs : 1 }],
        client_reference_id: accountId,
        customer_email: email,
        metadata: buildMetadata(purchase),
        success_url: `${back}?paid=1`,
        cancel_url: back,
      });
      if (session.url === null) throw new Error('Stripe returned a Checkout session without a URL');
      return { kind: 'redirect', url: session.url };
    },
    webhook: async (body, signature) => {
      const event = readEvent(stripe, body, signature, settings.webhookSecret);
      if (event === undefined) return 'bad-signature';
      if (!PAID_EVENTS.has(event.type)) return 'not-ours';
      const paid = paidSchema.safeParse(event.data.object);
      if (!paid.success || paid.data.payment_status !== 'paid') return 'not-ours';
      // The session's id, not the event's: two events may tell of one payment.
      const { id, client_reference_id: accountId, metadata: purchase } = paid.data;
      // The same id again gives the same order, and settling grants once.
      const order = await orders.create(accountId, purchase, id);
      if (order.status !== 'pending') return 'known';
      await orders.settle(order.id, 'paid');
      return 'carried-out';
    },
  };
}

function readEvent(stripe: Stripe, body: Buffer, signature: string, secret: string): Stripe.Event | undefined {
  try {
    return stripe.webhooks.constructEvent(body, signature, secret);
  } catch {
    // A wrong, old or missing signature, or a body that isn't an event: all are answered alike.
    return undefined;
  }
}

function findPrice(purchase: OrderItem, settings: StripeSettings): string | undefined {
  return purchase.kind === 'overage' ? settings.overagePrice : settings.planPrices[purchase.plan];
}

function buildMetadata(purchase: OrderItem): Record<string, string> {
  return purchase.kind === 'plan'
    ? { kind: 'plan', plan: purchase.plan }
    : { kind: 'overage', packs: String(purchase.packs) };
}
