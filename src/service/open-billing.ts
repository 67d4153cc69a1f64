import type { DashboardParts } from '../dashboard/api/api-parts.js';
import { operatorBilling } from '../dashboard/billing/billing.js';
import { errorCode } from '../engine/errors.js';
import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import type { ServiceSettings } from './settings.js';

const loadStripe = async () => {
  try {
    return await import('../dashboard/billing/stripe-billing.js');
  } catch (error) {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreError('STORE_PACKAGE_MISSING', 'payments by Stripe need a package: npm install stripe@23');
  }
};

/** Opens what takes the orders of the dashboard: Stripe where its settings are given, else the operator. @throws StoreError for an unknown plan */
export async function openBilling(
  store: Pick<Store, 'orders' | 'plans'>,
  settings: ServiceSettings,
): Promise<Pick<DashboardParts, 'billing' | 'stripe'>> {
  const { stripeSecretKey, stripeWebhookSecret, publicUrl, stripePrice = {}, stripeOveragePrice } = settings;
  if (stripeSecretKey === undefined || stripeWebhookSecret === undefined || publicUrl === undefined)
    return { billing: operatorBilling(store.orders) };
  const plans = store.plans.all.map(({ name }) => name);
  const unknown = Object.keys(stripePrice).filter((plan) => !plans.includes(plan));
  if (unknown.length > 0)
    throw new StoreError(
      'STORE_SETTINGS',
      `--stripe-price: no plan ${unknown.join(', ')}; there are: ${plans.join(', ')}`,
    );
  const { stripeBilling } = await loadStripe();
  const stripe = stripeBilling(
    {
      ...{ secretKey: stripeSecretKey, webhookSecret: stripeWebhookSecret, publicUrl },
      ...{ planPrices: stripePrice, overagePrice: stripeOveragePrice },
    },
    store.orders,
  );
  return { billing: stripe, stripe };
}
