import type { IncomingMessage, Server } from 'node:http';
import swagger from '@fastify/swagger';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { securePages } from '../../dashboard/secure-pages.js';
import { CALL, LONG } from '../long-texts/long-text-job.js';
import { createLongTexts, type LongTexts } from '../long-texts/long-texts.js';
import { createMetrics, type ServiceMetrics } from '../metrics.js';
import type { AccountOverlays } from '../screening/account-overlays.js';
import { createCallCounter } from '../screening/call-counter.js';
import { cachedKeys } from '../screening/key-cache.js';
import type { ScreeningEngine, ScreeningStore } from '../screening/ports.js';
import { runTextMemory } from '../screening/run-texts.js';
import { noteTraceIds, type Tracing } from '../tracing.js';
import { Admission } from './admission.js';
import { agentRoutes } from './agent-routes.js';
import { type AnalyzeParts, analyzeRoutes } from './analyze-route.js';
import { disconnectSignal, drainBody, refuseConnections, trustedProxies } from './connections.js';
import { docsPage, docsStyleSource } from './docs-page.js';
import { type AllowedMethods, answerErrors, HttpError, notFound, watchMethods } from './http-error.js';
import { readJsonObject } from './json-body.js';
import { openApiOptions } from './open-api.js';
import { commonHeaders, sendJson } from './responses.js';

/** All headers of a request together. */
const MAX_HEADER_BYTES = 16_384;

const MAX_HEADERS = 100;

/** Bytes of a rejected body that are still read, so that a client that sends first and reads later gets its response. */
const MIN_DRAINED_BYTES = 32 * 1024 * 1024;

export const CONNECTIONS_PER_ADDRESS = 512;

/** Bounds of the app; times in milliseconds. */
export interface AppLimits {
  /** Bytes of a body. Default 1 MiB. */
  readonly bodyBytes?: number | undefined;
  /** Screening calls in flight at once. Default 1,000. */
  readonly callsAtOnce?: number | undefined;
  /** Those of one account. Default: a quarter of `callsAtOnce`, at least 32. */
  readonly callsPerAccount?: number | undefined;
  /** Open connections of one address. Default 512. */
  readonly connectionsPerAddress?: number | undefined;
  /** A request that takes longer to arrive is dropped. Default 30,000. */
  readonly requestMs?: number | undefined;
}

export interface AppParts {
  readonly store: ScreeningStore;
  readonly engine: ScreeningEngine;
  /** Default: accounts have no overlays. */
  readonly overlays?: AccountOverlays | undefined;
  readonly limits?: AppLimits | undefined;
  /** Does what takes as long as a text is. Default: in this thread, at once. */
  readonly longTexts?: LongTexts | undefined;
  /** Wall clock; default the system's. */
  readonly now?: (() => Date) | undefined;
  /** Default: no log. */
  readonly logger?: FastifyBaseLogger | undefined;
  /** Metrics of the Node process too. Default true. */
  readonly nodeMetrics?: boolean | undefined;
  /** Proxies whose `X-Forwarded-*` headers are believed: addresses, networks, `loopback`, `linklocal`, `uniquelocal`. Default: none. */
  readonly trustProxy?: readonly string[] | undefined;
  /** Default: calls are no spans. */
  readonly tracing?: Tracing | undefined;
  /** The response of `/metrics`. Default: the metrics of this process. */
  readonly metricsPage?: (() => Promise<string>) | undefined;
  /** Address at which callers reach the service, for `/docs`. */
  readonly publicUrl?: string | undefined;
  /** More routes, e.g. the dashboard's; registered before the app is ready. */
  readonly extend?: ((app: FastifyInstance) => Promise<void>) | undefined;
}

/** The service as a Fastify app that doesn't listen yet. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, engine, limits = {}, now = () => new Date(), longTexts = createLongTexts() } = parts;
  const callsAtOnce = limits.callsAtOnce ?? 1_000;
  const bodyBytes = limits.bodyBytes ?? 1024 * 1024;
  let methods: AllowedMethods = () => [];
  const isProxy = trustedProxies(parts.trustProxy ?? []) ?? (() => false);
  const { clientError, watch } = refuseConnections((path) => methods(path), {
    perAddress: limits.connectionsPerAddress ?? CONNECTIONS_PER_ADDRESS,
    isProxy,
  });
  const app: FastifyInstance = Fastify({
    ...serverOptions(bodyBytes, limits.requestMs ?? 30_000),
    ...(parts.logger === undefined ? { logger: false as const } : { loggerInstance: parts.logger }),
    trustProxy: isProxy,
    clientErrorHandler: clientError,
  });
  // Node drops those beyond it without a word: one more than allowed shows that there are too many.
  app.server.maxHeadersCount = MAX_HEADERS + 1;
  watch(app.server);
  const metrics = createMetrics(parts.nodeMetrics ?? true, engine, callsAtOnce);
  methods = watchMethods(app);
  addHooks(app, methods, metrics, Math.max(MIN_DRAINED_BYTES, 4 * bodyBytes));
  readBodies(app, longTexts);
  answerErrors(app, methods);
  await app.register(swagger, openApiOptions());
  await app.register(async (scope) => {
    noteTraceIds(scope);
    parts.tracing?.traceRequests(scope);
    const calls: AnalyzeParts = {
      store,
      engine: parts.tracing?.traceEngine(engine) ?? engine,
      overlays: parts.overlays,
      metrics,
      longTexts,
      memory: runTextMemory(),
      now,
      counter: createCallCounter(store),
      admission: createAdmission(callsAtOnce, limits.callsPerAccount),
      findKey: cachedKeys(
        (secret) => store.keys.find(secret),
        () => performance.now(),
      ),
    };
    analyzeRoutes(scope, calls);
    agentRoutes(scope, calls);
  });
  await operatorRoutes(app, {
    store,
    engine,
    metricsType: metrics.registry.contentType,
    metricsPage: parts.metricsPage ?? (() => metrics.registry.metrics()),
    publicUrl: parts.publicUrl,
  });
  await parts.extend?.(app);
  await app.ready();
  return app;
}

function createAdmission(calls: number, callsPerAccount = Math.max(32, Math.ceil(calls / 4))): Admission {
  return new Admission({ calls, callsPerAccount, now: () => performance.now() });
}

/** Fastify's options that follow from nothing but the limits. */
function serverOptions(bodyBytes: number, requestMs: number): FastifyHttpOptions<Server> {
  return {
    // A line a request would hold its URL, and costs a tenth of the throughput: the metrics count instead.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger of its own for each request costs as much as reading its body; nothing is logged that needs one.
    childLoggerFactory: (logger) => logger,
    // Set after the app is made, Fastify would have loaded ajv and fast-json-stringify, which nothing here uses, in 35 ms of
    // a start. Its types know compilers of JSON Schema alone.
    schemaController: {
      compilersFactory: {
        buildValidator: (() => validatorCompiler) as never,
        buildSerializer: (() => serializerCompiler) as never,
      },
    },
    bodyLimit: bodyBytes,
    requestTimeout: requestMs,
    keepAliveTimeout: 75_000,
    return503OnClosing: false,
    http: {
      // Node looks for late requests every 30 s by default, and so would let them be twice as late.
      connectionsCheckingInterval: Math.min(1_000, requestMs),
      headersTimeout: Math.min(10_000, requestMs),
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node's own refusal has no body; the hook of `addHooks` refuses instead.
      requireHostHeader: false,
    },
    frameworkErrors: (_error, _request, reply) => {
      const answer: FastifyReply = reply;
      sendJson(commonHeaders(answer), 400, { error: 'The path is not a valid URL path.' });
    },
  };
}

/** Adds the hooks of every request. None of them is async: a promise would cost each call further turns of the event loop. */
function addHooks(app: FastifyInstance, methods: AllowedMethods, metrics: ServiceMetrics, drainedBytes: number): void {
  app.addHook('onRequest', (request, reply, done) => {
    commonHeaders(reply);
    const problem = headerProblem(request.raw);
    if (problem !== undefined) done(problem);
    // Now: the not-found handler is asked only after the body was read, and what is wrong with a body that nobody wants
    // would be the answer.
    else if (request.is404) notFound(request, reply, methods);
    else done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 400 && !request.raw.complete) {
      reply.removeHeader('connection');
      drainBody(request.raw, reply.raw, drainedBytes);
    }
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
}

/** Reads bodies of JSON alone: a long one of a call beside this thread. */
function readBodies(app: FastifyInstance, longTexts: LongTexts): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('call', null);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.bodyBytes = body.length;
    const isCall = /\/(?:analyze|playground)$/.test(request.routeOptions.url ?? '');
    const fail = (error: unknown): void =>
      done(error instanceof Error ? error : new Error('the body could not be read'));
    if (body.length > LONG && isCall) {
      const tenant = request.call?.owner.account.id ?? '';
      longTexts
        .run({ kind: 'call', body }, { tenant, signal: disconnectSignal(request) })
        .then((read) => done(null, read), fail);
    } else if (body.length > LONG && request.call) {
      // The route of an agent has it read and answered.
      done(null, body);
    } else {
      try {
        done(null, readJsonObject(body, isCall ? CALL : 'a JSON object'));
      } catch (error) {
        fail(error);
      }
    }
  });
}

/**
 * Returns a fault of a request's headers, read as they were sent. Node keeps the first of two `Host` or `Content-Type`
 * headers; a proxy may keep the last, and would have sent another request than the one that is screened.
 */
function headerProblem({ rawHeaders, httpVersion }: IncomingMessage): HttpError | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS)
    return new HttpError(431, `The request has more than ${MAX_HEADERS} headers.`);
  let hosts = 0;
  let types = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 12 && name.toLowerCase() === 'content-type') types++;
  }
  if (hosts === 0 && httpVersion === '1.1') return new HttpError(400, 'The request has no `Host` header.');
  if (hosts > 1) return new HttpError(400, 'The request has several `Host` headers; send one.');
  if (types > 1) return new HttpError(400, 'The request has several `Content-Type` headers; send one.');
  return undefined;
}

interface OperatorParts {
  readonly store: ScreeningStore;
  readonly engine: ScreeningEngine;
  /** Media type and text of the metrics. */
  readonly metricsType: string;
  readonly metricsPage: () => Promise<string>;
  /** Address at which callers reach the service; default: the one of the request. */
  readonly publicUrl?: string | undefined;
}

/** `/openapi.json`, `/docs`, `/healthz`, `/readyz` and `/metrics`: no key, and nothing of any account. */
async function operatorRoutes(
  app: FastifyInstance,
  { store, engine, metricsType, metricsPage, publicUrl }: OperatorParts,
): Promise<void> {
  const hide = { schema: { hide: true } };
  let document: string | undefined;

  app.get('/openapi.json', hide, async (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.header('content-type', 'application/json').serializer(String).send(document);
  });
  await app.register(async (scope) => {
    await securePages(scope, { styleSrc: [docsStyleSource] });
    scope.get('/docs', hide, async (request, reply) => {
      const origin = publicUrl ?? `${request.protocol}://${request.host}`;
      return reply.header('content-type', 'text/html; charset=utf-8').send(docsPage(app.swagger(), origin));
    });
  });
  app.get('/healthz', hide, async (_request, reply) => sendJson(reply, 200, { status: 'alive' }));
  app.get('/readyz', hide, async (request, reply) => {
    const health = await store.ready();
    if (!health.ok) {
      request.log.warn({ problems: health.problems }, 'the store is not ready');
      return sendJson(reply, 503, { error: 'The store is not ready.' });
    }
    const { mode, rules_version, ml_version } = engine.info;
    return sendJson(reply, 200, { status: 'ready', mode, rules_version, ml_version });
  });
  app.get('/metrics', hide, async (_request, reply) => {
    reply.header('content-type', metricsType);
    return reply.send(await metricsPage());
  });
}
