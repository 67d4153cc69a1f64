import swagger from '@fastify/swagger';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { createMetrics } from '../metrics.js';
import { cachedKeys } from '../screening/key-cache.js';
import type { Scorers, ScreeningStore } from '../screening/ports.js';
import { createAdmission } from './admission.js';
import { type AllowedMethods, watchMethods } from './allowed-methods.js';
import { analyzeRoutes } from './analyze-route.js';
import { refuseConnections } from './connections.js';
import { answerErrors, HttpError, notFound } from './http-error.js';
import { readJson } from './json-body.js';
import { openApiOptions } from './open-api.js';
import { operatorRoutes } from './operator-routes.js';
import { commonHeaders, sendJson } from './responses.js';

/** All headers of a request together. */
const MAX_HEADER_BYTES = 16_384;

/** Headers that Node keeps of a request; what a request needs comes among the first. */
const MAX_HEADERS = 100;

/** Bounds of the app; times in milliseconds. */
export interface AppLimits {
  /** Bytes of a body. Default 1 MiB. */
  readonly bodyBytes?: number | undefined;
  /** Screening calls under way at once. Default 1,000. */
  readonly callsAtOnce?: number | undefined;
  /** A request that takes longer to arrive is dropped. Default 30,000. */
  readonly requestMs?: number | undefined;
}

/** What an app is made of. */
export interface AppParts {
  readonly store: ScreeningStore;
  readonly scorers: Scorers;
  readonly limits?: AppLimits | undefined;
  /** Wall clock; default the system's. */
  readonly now?: (() => Date) | undefined;
  /** Default: no log. */
  readonly logger?: FastifyBaseLogger | undefined;
  /** Metrics of the Node process too. Default true. */
  readonly nodeMetrics?: boolean | undefined;
  /** More routes, e.g. the dashboard's; registered before the app is ready. */
  readonly extend?: ((app: FastifyInstance) => Promise<void>) | undefined;
}

/** The service as a Fastify app that doesn't listen yet. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, scorers, limits = {}, now = () => new Date() } = parts;
  const requestMs = limits.requestMs ?? 30_000;
  let methods: AllowedMethods = () => [];
  const { clientError, watch } = refuseConnections((path) => methods(path));
  const app: FastifyInstance = Fastify({
    ...(parts.logger === undefined ? { logger: false as const } : { loggerInstance: parts.logger }),
    // A line a request would hold its URL, and costs a tenth of the throughput: the metrics count instead.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes ?? 1024 * 1024,
    requestTimeout: requestMs,
    keepAliveTimeout: 75_000,
    return503OnClosing: false,
    http: {
      // Node looks for late requests every 30 s by default, and so would let them be twice as late.
      connectionsCheckingInterval: Math.min(1_000, requestMs),
      headersTimeout: Math.min(10_000, requestMs),
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node's own refusal has no body; the hook below refuses instead.
      requireHostHeader: false,
    },
    clientErrorHandler: clientError,
    frameworkErrors: (_error, _request, reply) => {
      const answer: FastifyReply = reply;
      sendJson(commonHeaders(answer), 400, { error: 'The path is not a valid URL path.' });
    },
  });
  app.server.maxHeadersCount = MAX_HEADERS;
  watch(app.server);
  const metrics = createMetrics(parts.nodeMetrics ?? true, scorers);
  methods = watchMethods(app);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // Hooks that wait for nothing are no promises: those cost each call its turns of the queue.
  app.addHook('onRequest', (request, reply, done) => {
    commonHeaders(reply);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      done(new HttpError(400, 'The request has no `Host` header.'));
    // Now: the not-found handler is asked only after the body was read, and what is wrong with a body that nobody wants
    // would be the answer.
    else if (request.is404) notFound(request, reply, methods);
    else done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request: unknown, body: Buffer, done) => {
    try {
      done(null, objectIn(readJson(body)));
    } catch (error) {
      done(error instanceof Error ? error : new Error('the body could not be read'));
    }
  });
  answerErrors(app, methods);
  await app.register(swagger, openApiOptions());
  await app.register(async (scope) => {
    analyzeRoutes(scope, {
      store,
      scorers,
      metrics,
      now,
      admission: createAdmission(limits.callsAtOnce ?? 1_000),
      findKey: cachedKeys(
        (secret) => store.keys.find(secret),
        () => performance.now(),
      ),
    });
  });
  await operatorRoutes(app, { store, scorers, metrics });
  await parts.extend?.(app);
  await app.ready();
  return app;
}

/** @throws HttpError 400 that names the type of anything but an object */
function objectIn(value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  const type = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  throw new HttpError(400, `The body is ${type}; it must be a JSON object with \`input\`.`);
}
