import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorCode, PortcullisError } from '../../engine/errors.js';
import type { Rule } from '../../engine/rules/types.js';
import type { LongWork, Store } from '../../store/store.js';
import type { StoreErrorCode } from '../../store/store-error.js';
import type { Billing } from '../billing/billing.js';
import type { StripeBilling } from '../billing/stripe-billing.js';
import type { DashboardService, DashboardWebhooks } from '../ports.js';

export interface DashboardParts {
  readonly store: Store;
  readonly service: DashboardService;
  /** The rules in force, with their version. Called for each list of them: keep what is costly. */
  readonly rules: () => { readonly version: string; readonly rules: readonly Rule[] };
  readonly billing: Billing;
  readonly webhooks: DashboardWebhooks;
  /** Given where Stripe takes the payments: opens its webhook. */
  readonly stripe?: StripeBilling | undefined;
  /** Whether strangers may make an account. */
  readonly signUp: boolean;
  /** Address at which readers reach the service; with `https:` the cookies are `Secure`. */
  readonly publicUrl?: string | undefined;
  /** Address of a trace, with `{trace_id}` in it. Default: traces have no links. */
  readonly traceUrl?: string | undefined;
  /** Runs the steps of long responses. Default: each at once. */
  readonly longWork?: LongWork | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Folder of the built page. Default: beside the program. */
  readonly webFolder?: string | undefined;
}

/** A fastify instance whose routes are typed by their zod schemas. */
export type ApiApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** An error response with a message for the reader. It never quotes a screened text. */
export class ApiError extends PortcullisError {
  override readonly name = 'ApiError';
  readonly statusCode: number;
  /** `API_REFUSED`: the message says why. `SECOND_FACTOR`: the sign-in also needs a code; the page asks for it. */
  readonly code: 'API_REFUSED' | 'SECOND_FACTOR';

  constructor(statusCode: number, message: string, code: ApiError['code'] = 'API_REFUSED') {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
  }
}

/** For routes that send a stream: Fastify would answer `HEAD` at once, and read all of the stream afterwards. */
export const withoutHead = { exposeHeadRoute: false } as const;

/** An e-mail address, in lower case. */
export const emailSchema: z.ZodType<string> = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .regex(/^[^\s@]+@[^\s@]+$/, 'That is not an e-mail address.');

/** At least 10 characters; no rule about their kinds (NIST SP 800-63B). */
export const passwordSchema: z.ZodType<string> = z.string().min(10, 'At least 10 characters.').max(1000);

/** A password that is compared, not set. */
export const givenPasswordSchema: z.ZodType<string> = z.string().max(1000);

/** The result of `work`; if it fails with this code, `refusal` is thrown instead. */
export async function orRefuse<T>(
  code: StoreErrorCode | 'OVERLOADED',
  refusal: ApiError,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw errorCode(error) === code ? refusal : error;
  }
}
