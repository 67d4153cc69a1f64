import { z } from 'zod';
import { trustedProxies } from './http/connections.js';

const whole = (min: number, max: number): z.ZodNumber => z.coerce.number().int().min(min).max(max) as z.ZodNumber;

/** `pro=price_123`, several with commas between them. */
const prices = z
  .array(z.string())
  .transform((lines) => lines.flatMap((line) => line.split(',')).filter((it) => it.trim() !== ''))
  .refine((pairs) => pairs.every((it) => /^\s*[a-z][a-z0-9-]*\s*=\s*price_\w+\s*$/.test(it)), {
    message: '--stripe-price takes PLAN=price_…, as Stripe names it',
  })
  .transform((pairs) => Object.fromEntries(pairs.map((it) => it.split('=').map((part) => part.trim()))));

const hasStripe = (it: Readonly<Record<string, unknown>>): boolean =>
  [it.stripeSecretKey, it.stripeWebhookSecret, it.stripePrice, it.stripeOveragePrice].some((one) => one !== undefined);

/** Everything an operator may set, as flags and the environment give it: texts become numbers here. */
export const settingsSchema: z.ZodType<ServiceSettings> = z
  .object({
    data: z.string().min(1).optional(),
    databaseUrl: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
    plans: z.string().min(1).optional(),
    keyPepper: z.string().min(32).optional(),
    host: z.string().min(1),
    port: whole(0, 65_535),
    mode: z.enum(['rules', 'hybrid', 'shadow']).optional(),
    pack: z.array(z.string()).optional(),
    overlay: z.array(z.string()).optional(),
    model: z.string().min(1).optional(),
    operatingPoint: z.string().min(1).optional(),
    workers: whole(1, 256),
    processes: whole(1, 64),
    bodyLimit: whole(1_024, 64 * 1024 * 1024),
    callsAtOnce: whole(1, 100_000),
    callsPerAccount: whole(1, 100_000).optional(),
    connectionsPerAddress: whole(1, 100_000).optional(),
    trustProxy: z
      .string()
      .transform((text) => text.split(',').map((it) => it.trim()))
      .refine((networks) => trustedProxies(networks) !== undefined, {
        message: '--trust-proxy takes addresses, networks (10.0.0.0/8), loopback, linklocal, uniquelocal',
      })
      .optional(),
    deadline: whole(100, 600_000),
    signUp: z.enum(['on', 'off']).transform((value) => value === 'on'),
    webhookPrivateAddresses: z
      .enum(['on', 'off'])
      .default('off')
      .transform((value) => value === 'on'),
    publicUrl: z
      .url({ protocol: /^https?$/ })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
    traceUrl: z
      .url({ protocol: /^https?$/ })
      .includes('{trace_id}', '--trace-url takes a URL with {trace_id} in it')
      .optional(),
    stripeSecretKey: z
      .string()
      .regex(
        /^(sk|rk)_(test|live)_\w+$/,
        '--stripe-secret-key takes a secret or restricted key of Stripe, sk_… or rk_…',
      )
      .optional(),
    stripeWebhookSecret: z
      .string()
      .startsWith('whsec_', '--stripe-webhook-secret takes the signing secret of the webhook endpoint, whsec_…')
      .optional(),
    stripePrice: prices.optional(),
    stripeOveragePrice: z.string().startsWith('price_', '--stripe-overage-price takes a price id, price_…').optional(),
    logLevel: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']),
  })
  .refine((it) => !hasStripe(it) || (it.stripeSecretKey && it.stripeWebhookSecret && it.publicUrl), {
    message: 'Stripe takes --stripe-secret-key, --stripe-webhook-secret and --public-url together',
  })
  .refine((it) => it.stripeSecretKey === undefined || it.stripePrice || it.stripeOveragePrice, {
    message: 'Stripe takes a price: --stripe-price or --stripe-overage-price',
  })
  .refine(({ data, databaseUrl }) => (data === undefined) !== (databaseUrl === undefined), {
    message: 'give either --data or --database-url',
  });

export interface ServiceSettings {
  /** Folder of the embedded database. Exactly one of `data` and `databaseUrl` is given. */
  readonly data?: string | undefined;
  readonly databaseUrl?: string | undefined;
  /** Plans file, YAML or JSON. */
  readonly plans?: string | undefined;
  /** Secret that keys are hashed with, 32 characters or more. */
  readonly keyPepper?: string | undefined;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly mode?: 'rules' | 'hybrid' | 'shadow' | undefined;
  readonly pack?: readonly string[] | undefined;
  readonly overlay?: readonly string[] | undefined;
  /** Folder, or `off`. */
  readonly model?: string | undefined;
  /** Name of one of the model's operating points, at which it blocks; overrides an overlay's. */
  readonly operatingPoint?: string | undefined;
  readonly workers: number;
  /** Processes that share the port, each with a part of the engine workers. */
  readonly processes: number;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly callsAtOnce: number;
  /** Calls of one account at once. Default: a quarter of `callsAtOnce`, at least 32. */
  readonly callsPerAccount?: number | undefined;
  /** Open connections of one address. Default 512. */
  readonly connectionsPerAddress?: number | undefined;
  /** Proxies whose `X-Forwarded-*` headers are believed. Default: none. */
  readonly trustProxy?: readonly string[] | undefined;
  /** Milliseconds that one call may take in an engine worker. */
  readonly deadline: number;
  readonly signUp: boolean;
  /** Whether webhooks may go to private addresses, and by plain HTTP. */
  readonly webhookPrivateAddresses: boolean;
  /** Address of the dashboard's links to traces, with `{trace_id}` in it. Default: no links. */
  readonly traceUrl?: string | undefined;
  /**
   * Address at which readers reach the service, without a slash at the end; Stripe sends them back there. With `https:` the
   * dashboard's cookies are `Secure` and `__Host-`.
   */
  readonly publicUrl?: string | undefined;
  /** With it Stripe takes the payments; without it orders wait for the operator. */
  readonly stripeSecretKey?: string | undefined;
  /** `whsec_…` of the webhook endpoint `/dashboard/billing/stripe`. */
  readonly stripeWebhookSecret?: string | undefined;
  /** Stripe price ids of the plans on sale, by plan. */
  readonly stripePrice?: Readonly<Record<string, string>> | undefined;
  /** Stripe price id of one overage pack. */
  readonly stripeOveragePrice?: string | undefined;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
}

/** The settings as they may be printed: secrets as `***`. */
export function maskedSettings(settings: ServiceSettings): ServiceSettings {
  const { databaseUrl, keyPepper, stripeSecretKey, stripeWebhookSecret } = settings;
  return {
    ...settings,
    databaseUrl: databaseUrl?.replace(/:[^:@/]*@/, ':***@'),
    keyPepper: keyPepper && '***',
    stripeSecretKey: stripeSecretKey && '***',
    stripeWebhookSecret: stripeWebhookSecret && '***',
  };
}
