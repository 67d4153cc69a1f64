import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { stripeBilling } from '../../../src/dashboard/billing/stripe-billing.js';
import { openBilling } from '../../../src/service/run-service.js';
import { maskedSettings, settingsSchema } from '../../../src/service/settings.js';
import type { Store } from '../../../src/store/store.js';
import { SERVE_FLAGS } from '../../service/serve-flags.js';
import { ask, signIn, testDashboard } from '../test-dashboard.js';

const WEBHOOK_SECRET = 'whsec_of_a_test';
const signer = new Stripe('sk_test_none');

const event = (type: string, changes: object = {}): string =>
  JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type,
    data: {
      object: {
        ...{ id: 'cs_1', object: 'checkout.session', payment_status: 'paid', client_reference_id: 'ACCOUNT' },
        metadata: { kind: 'overage', packs: '2' },
        ...changes,
      },
    },
  });
const signed = (payload: string, secret = WEBHOOK_SECRET, timestamp = Math.floor(Date.now() / 1000)): string =>
  signer.webhooks.generateTestHeaderString({ payload, secret, timestamp });

const shop = async () => {
  const settings = {
    secretKey: 'sk_test_none',
    webhookSecret: WEBHOOK_SECRET,
    publicUrl: 'https://screen.example.com',
  };
  const billingOf = ({ orders }: Store) => {
    const prices = { planPrices: { pro: 'price_pro' }, overagePrice: 'price_pack' };
    const stripe = stripeBilling({ ...settings, ...prices }, orders);
    return { stripe, billing: stripe };
  };
  const it = await testDashboard({ billingOf });
  const { app } = it;
  const owner = await signIn(it, 'sign-up', { account: 'A', email: 'a@example.com', password: 'a long password' });
  const send = async (body: string, signature: string) => {
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/dashboard/billing/stripe',
      headers,
      payload: body,
    });
    const { overageLeft, plan } = await it.store.accounts.find(owner.accountId);
    return [statusCode, overageLeft, plan];
  };
  return { it, owner, send, of: (text: string) => text.replace('ACCOUNT', owner.accountId), close: it.close };
};

describe("Stripe's webhook", () => {
  test('a payment is carried out once, however often and by whatever event it is told of', async () => {
    const { send, of, close } = await shop();
    const body = of(event('checkout.session.completed'));
    expect(await send(body, signed(body))).toEqual([200, 20_000, 'trial']);
    expect(await send(body, signed(body))).toEqual([200, 20_000, 'trial']);
    const again = of(event('checkout.session.async_payment_succeeded'));
    expect(await send(again, signed(again))).toEqual([200, 20_000, 'trial']);
    const plan = of(event('checkout.session.completed', { id: 'cs_2', metadata: { kind: 'plan', plan: 'pro' } }));
    expect(await send(plan, signed(plan))).toEqual([200, 20_000, 'pro']);
    await close();
  });

  test('nothing without the signature of the very body, or without the money', async () => {
    const { send, of, close } = await shop();
    const body = of(event('checkout.session.completed'));
    const other = body.replace('"2"', '"99"');
    expect(await send(body, '')).toEqual([400, 0, 'trial']);
    expect(await send(other, signed(body))).toEqual([400, 0, 'trial']);
    expect(await send(body, signed(body, 'whsec_other'))).toEqual([400, 0, 'trial']);
    expect(await send(body, signed(body, WEBHOOK_SECRET, 1_700_000_000))).toEqual([400, 0, 'trial']);
    const unpaid = of(event('checkout.session.completed', { payment_status: 'unpaid' }));
    expect(await send(unpaid, signed(unpaid))).toEqual([200, 0, 'trial']);
    const unrelated = of(event('invoice.paid'));
    expect(await send(unrelated, signed(unrelated))).toEqual([200, 0, 'trial']);
    await close();
  });
});

test('what has no price is not on sale', async () => {
  const { it, owner, close } = await shop();
  const plan = (await ask(it, owner, 'GET', '/plan')).json();
  expect([plan.payment, plan.onSale]).toEqual(['stripe', ['pro']]);
  expect((await ask(it, owner, 'POST', '/orders', { kind: 'plan', plan: 'scale' })).statusCode).toBe(409);
  await close();
});

describe("Stripe's settings", () => {
  const stripe = {
    ...{ stripeSecretKey: 'sk_test_1', stripeWebhookSecret: WEBHOOK_SECRET, publicUrl: 'https://screen.example.com/' },
    stripePrice: ['pro=price_1,scale=price_2', 'starter = price_3'],
  };

  test('are read from flags and variables, and printed without their secrets', () => {
    const settings = settingsSchema.parse({ ...SERVE_FLAGS, ...stripe });
    expect(settings.stripePrice).toEqual({ pro: 'price_1', scale: 'price_2', starter: 'price_3' });
    expect(settings.publicUrl).toBe('https://screen.example.com');
    const printed = JSON.stringify(maskedSettings(settings));
    for (const secret of ['sk_test_1', WEBHOOK_SECRET]) expect(printed).not.toContain(secret);
    expect(printed).toContain('price_1');
  });

  const together = 'Stripe takes --stripe-secret-key, --stripe-webhook-secret and --public-url together';
  test.each([
    ['no webhook secret', { stripeWebhookSecret: undefined }, together],
    ['no public address', { publicUrl: undefined }, together],
    ['no secret key', { stripeSecretKey: undefined }, together],
    ['no price', { stripePrice: undefined }, 'Stripe takes a price: --stripe-price or --stripe-overage-price'],
    ['a price of no plan', { stripePrice: ['price_1'] }, '--stripe-price takes PLAN=price_…, as Stripe names it'],
    [
      'the publishable key',
      { stripeSecretKey: 'pk_test_1' },
      '--stripe-secret-key takes a secret or restricted key of Stripe, sk_… or rk_…',
    ],
    [
      'a secret of another kind',
      { stripeWebhookSecret: 'sk_test_1' },
      '--stripe-webhook-secret takes the signing secret of the webhook endpoint, whsec_…',
    ],
    ['a pack with no price id', { stripeOveragePrice: '5 €' }, '--stripe-overage-price takes a price id, price_…'],
  ])('are refused with %s, saying what to give', (_name, change, message) => {
    const { error } = settingsSchema.safeParse({ ...SERVE_FLAGS, ...stripe, ...change });
    expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
  });

  test.each([
    [
      'no webhook secret',
      { PORTCULLIS_STRIPE_WEBHOOK_SECRET: '' },
      'Stripe takes --stripe-secret-key, --stripe-webhook-secret and --public-url together',
    ],
    [
      'a key of the wrong form',
      { PORTCULLIS_STRIPE_SECRET_KEY: 'pk_live_1' },
      '--stripe-secret-key takes a secret or restricted key',
    ],
    ['a plan that there isn’t', { PORTCULLIS_STRIPE_PRICE: 'pro=price_1,gold=price_2' }, 'no plan gold; there are: '],
  ])('keep a service from starting with %s', (_name, change, message) => {
    const variables = {
      ...{ PORTCULLIS_STRIPE_SECRET_KEY: 'sk_test_1', PORTCULLIS_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET },
      ...{ PORTCULLIS_STRIPE_PRICE: 'pro=price_1', PORTCULLIS_PUBLIC_URL: 'https://screen.example.com' },
      ...change,
    };
    const data = mkdtempSync(join(tmpdir(), 'portcullis-stripe-'));
    const args = [...['serve', '--port', '0', '--mode', 'rules', '--workers', '1', '--data', data]];
    const given = Object.fromEntries(
      Object.entries({ ...process.env, ...variables }).filter(([, value]) => value !== ''),
    );
    const { status, stdout, stderr } = spawnSync(process.execPath, [join('dist', 'cli', 'main.js'), ...args], {
      ...{ env: given, encoding: 'utf8', timeout: 25_000 },
    });
    rmSync(data, { recursive: true });
    expect({ status, ready: stdout.includes('ready') }).toEqual({ status: 2, ready: false });
    expect(stderr).toContain(message);
    for (const secret of ['pk_live_1', 'sk_test_1', WEBHOOK_SECRET]) expect(stderr).not.toContain(secret);
  });

  test('choose who takes the orders; a plan that there isn’t is refused', async () => {
    const { it, close } = await shop();
    const settings = settingsSchema.parse({ ...SERVE_FLAGS, ...stripe });
    expect((await openBilling(it.store, settings)).billing.payment).toBe('stripe');
    expect((await openBilling(it.store, settingsSchema.parse(SERVE_FLAGS))).billing.payment).toBe('operator');
    const wrong = openBilling(it.store, { ...settings, stripePrice: { gold: 'price_1' } });
    await expect(wrong).rejects.toMatchObject({ code: 'STORE_SETTINGS' });
    await close();
  });
});
