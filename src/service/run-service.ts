import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { findModel } from '../adapters/model/model-folder.js';
import { loadPack } from '../adapters/packs/load-pack.js';
import { overlayStack } from '../adapters/packs/overlay-stack.js';
import { childProgram } from '../adapters/worker.js';
import type { DashboardParts } from '../dashboard/api/api-parts.js';
import { operatorBilling } from '../dashboard/billing/billing.js';
import { dashboard } from '../dashboard/dashboard.js';
import { errorCode } from '../engine/errors.js';
import { keepVersions } from '../evidence/kept-versions.js';
import type { LongWork, Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import type { ShortTextPool } from '../workers/short-texts.js';
import { dashboardService } from './dashboard-service.js';
import { ensureFirstAccount, type FirstAccount, markShown, type UnshownAccount } from './first-account.js';
import { buildApp, CONNECTIONS_PER_ADDRESS } from './http/build-app.js';
import { createLongTexts } from './long-texts/long-texts.js';
import { replayService } from './replay-service.js';
import { accountOverlays } from './screening/account-overlays.js';
import { createFairLimit } from './screening/fair-limit.js';
import type { ServiceSettings } from './settings.js';
import { openTracing } from './tracing.js';
import { urlProblem } from './webhooks/public-address.js';
import { WebhookSender } from './webhooks/send-webhooks.js';
import { watchAccounts, webhookBody } from './webhooks/watch-accounts.js';

export interface RunningService {
  /** `http://host:port` */
  readonly url: string;
  /** Given by the run that made it, and never again; without its secrets where that run ended before it showed them. */
  readonly firstAccount: FirstAccount | UnshownAccount | undefined;
  /** To be called once the first account's secrets were shown. */
  firstAccountShown(): Promise<void>;
  /** Takes no new calls, finishes those in flight, writes what is pending, and ends. */
  close(): Promise<void>;
}

/** One process of a service that has several. */
export interface ProcessShare {
  /** Number of processes; bounds on calls, connections and engine workers are divided among them. */
  readonly processes: number;
  /** Does what one process does for all: it deletes old evidence. */
  readonly isFirst: boolean;
  /** The metrics of all processes, as Prometheus reads them. */
  readonly metricsPage: () => Promise<string>;
}

export interface OpeningParts {
  readonly store: Promise<Store>;
  readonly engine: Promise<ShortTextPool>;
  readonly longWork: LongWork;
  /** The day, `YYYY-MM-DD`, that the engines go by. */
  readonly today: string;
  readonly share: ProcessShare | undefined;
  /** This process's part of a bound on all. */
  ofAll(bound: number): number;
}

/** Time between deletions of evidence that is past its account's retention, milliseconds. */
const PURGE_MS = 3_600_000;

/** Time that the memory of a run is kept, milliseconds. */
const RUN_MS = 24 * 3_600_000;

/** Time for calls in flight once the service is shutting down, milliseconds. */
const DRAIN_MS = 20_000;

/** Lists and searches of evidence that are read at once for the dashboard, and those of one account that are or wait. */
const LISTS_AT_ONCE = 2;
const LISTS_PER_ACCOUNT = 12;

/** Runs the service on a store and engines that are being opened. Closes them where it fails. @throws StoreError, ScoringError */
// Long: the order in which parts open is the reverse of the order in which they close.
export async function runService(settings: ServiceSettings, parts: OpeningParts): Promise<RunningService> {
  const { longWork, ofAll, share, today } = parts;
  const { pack, overlay, model } = settings;
  const log = pino({ level: settings.logLevel, base: null }, pino.destination(2));
  const opened: (() => Promise<void>)[] = [
    async () => (await parts.store).close(),
    async () => (await parts.engine).close(),
  ];
  try {
    const tracing = await openTracing();
    if (tracing !== undefined)
      opened.unshift(() => tracing.close().catch(() => log.warn('the last spans were not exported')));
    const store = await parts.store;
    const billing = await openBilling(store, settings);
    const engine = await parts.engine;
    const { rules_version: rulesVersion, ml_version: mlVersion, packs } = engine.info;
    log.info({ packs, rules_version: rulesVersion, ml_version: mlVersion }, 'rules in force');
    const modelFolder = mlVersion === 'off' || mlVersion === 'unavailable' ? undefined : findModel(model);
    await keepVersions(store.versions, { packs: pack, overlays: overlay, today, rulesVersion, mlVersion, modelFolder });
    const rules = { packs: pack, overlays: overlay, today };
    const loaded = once(() => loadPack(rules));
    const overlays = accountOverlays(
      () => overlayStack(loaded(), today),
      engine.info,
      store.versions,
      () => new Date(),
    );
    const sender = new WebhookSender(store.webhooks, { allowPrivate: settings.webhookPrivateAddresses, now: Date.now });
    const watch = watchAccounts(store, Date.now);
    opened.push(async () => {
      watch.close();
      await sender.close();
    });
    const limitLists = createFairLimit({ atOnce: LISTS_AT_ONCE, perTenant: LISTS_PER_ACCOUNT });
    // Lists and searches of the dashboard: expensive work that no quota counts.
    const list: Store['evidence']['list'] = (accountId, ...asked) =>
      limitLists(accountId, () => store.evidence.list(accountId, ...asked));
    const shown: Store = { ...store, evidence: { ...store.evidence, list } };
    const replays = replayService(store, engine, overlays);
    opened.push(() => replays.close());
    const longTexts = createLongTexts(childProgram('long-text-worker'), settings.bodyLimit);
    opened.push(async () => longTexts.close());
    const app = await buildApp({
      store,
      async extend(inner) {
        inner.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/dashboard/', 302));
        await dashboard(inner, {
          store: shown,
          service: dashboardService({ store: shown, engine, overlays, replays, longTexts, now: () => new Date() }),
          longWork,
          ...billing,
          webhooks: {
            urlProblem: (url) => urlProblem(url, settings.webhookPrivateAddresses),
            testBody: (accountId) => webhookBody('webhook.test', accountId, {}, Date.now()),
          },
          rules: once(() => {
            const { pack } = loaded();
            return { version: pack.rulesVersion, rules: pack.layers.flatMap((layer) => layer.rules) };
          }),
          signUp: settings.signUp,
          publicUrl: settings.publicUrl,
          traceUrl: settings.traceUrl,
          now: Date.now,
        });
      },
      engine,
      overlays,
      longTexts,
      logger: log,
      limits: {
        bodyBytes: settings.bodyLimit,
        callsAtOnce: ofAll(settings.callsAtOnce),
        callsPerAccount: settings.callsPerAccount && ofAll(settings.callsPerAccount),
        connectionsPerAddress: ofAll(settings.connectionsPerAddress ?? CONNECTIONS_PER_ADDRESS),
      },
      tracing,
      metricsPage: share?.metricsPage,
      trustProxy: settings.trustProxy,
      publicUrl: settings.publicUrl,
    });
    opened.push(() => drain(app));
    await app.listen({ host: settings.host, port: settings.port });
    // The workers are warm; what this process takes off them can wait.
    void engine.warmUp();
    // After listening: a start that can't listen must not create a key that is never shown.
    const firstAccount = await ensureFirstAccount(store);
    sender.start();
    watch.start();
    const purge = setInterval(() => {
      if (share?.isFirst === false) return;
      Promise.all([store.evidence.purge(Date.now()), store.runs.purge(Date.now() - RUN_MS)]).then(
        ([records]) => records > 0 && log.info({ records }, 'evidence purged'),
        (error: unknown) =>
          // The store's own errors say what to do and hold no text.
          log.warn(
            { name: error instanceof Error ? error.name : 'unknown' },
            error instanceof StoreError ? error.message : 'no purge',
          ),
      );
    }, PURGE_MS);
    purge.unref();
    return {
      url: formatUrl(app.server.address() as AddressInfo),
      firstAccount,
      firstAccountShown: () => markShown(store),
      async close() {
        clearInterval(purge);
        for (const close of opened.reverse()) await close();
      },
    };
  } catch (error) {
    // Report why the start failed, even if the clean-up fails as well.
    for (const close of opened.reverse()) await close().catch(() => undefined);
    throw error;
  }
}

function once<T>(work: () => T): () => T {
  let kept: { readonly value: T } | undefined;
  return () => {
    kept ??= { value: work() };
    return kept.value;
  };
}

/** Ends when the last answer left: a connection that is kept alive would hold the server for its whole idle time. */
async function drain(app: FastifyInstance): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 50);
  const all = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(all);
  }
}

function formatUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

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
