import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Billing, OrderBook } from '../billing/billing.js';
import type { StripeBilling } from '../billing/stripe-billing.js';
import type { DashboardService, DashboardStore } from '../ports.js';

/** What the dashboard is made of. */
export interface DashboardParts {
  readonly store: DashboardStore;
  readonly service: DashboardService;
  readonly orders: OrderBook;
  readonly billing: Billing;
  /** Given where Stripe takes the payments: opens its webhook. */
  readonly stripe?: StripeBilling | undefined;
  /** Whether strangers may make an account. */
  readonly signUp: boolean;
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
