import type { FastifyInstance, FastifyRequest } from 'fastify';
import { whenClosed } from '../adapters/when-closed.js';
import { errorCode } from '../engine/errors.js';
import type { Analyzer } from '../policy/index.js';
import { StoreError } from '../store/store-error.js';
import type { ScreeningCall, ScreeningEngine } from './screening/ports.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** 32 hex digits of the trace that the call is a part of: the caller's, or the service's own. */
    traceId: string | undefined;
  }
}

/** Exports spans and metrics of screening calls. */
export interface Tracing {
  /** Makes a span of each request, as a part of the caller's trace. */
  traceRequests(app: FastifyInstance): void;
  /** Makes a span of each screening, below its request's. */
  traceEngine(engine: ScreeningEngine): ScreeningEngine;
  /** Exports what is left. */
  close(): Promise<void>;
}

const ENDPOINTS = ['', '_TRACES', '_METRICS'].map((signal) => `OTEL_EXPORTER_OTLP${signal}_ENDPOINT`);
/** A trace's and a span's id, neither of them zero (W3C Trace Context). */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/**
 * Starts the OpenTelemetry SDK where the standard environment variables name an endpoint; it reads the others itself.
 * Undefined where they don't: nothing of OpenTelemetry is loaded then.
 */
export async function openTracing(environment: NodeJS.ProcessEnv = process.env): Promise<Tracing | undefined> {
  const isDisabled = environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true';
  if (isDisabled || !ENDPOINTS.some((name) => environment[name])) return undefined;
  const { NodeSDK, resources, api, instrument } = await loadPackages();
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const sdk = new NodeSDK({
    ...(environment.OTEL_SERVICE_NAME ? {} : { serviceName: 'portcullis' }),
    // Not the process's: its command line may hold secrets.
    resourceDetectors: [resources.envDetector],
    instrumentations: [],
  });
  sdk.start();
  const tracer = trace.getTracer('portcullis');
  return {
    traceRequests(app) {
      // After the body was read: the handler starts in the context that `done` is called in.
      app.addHook('preHandler', (request, reply, done) => {
        const parent = propagation.extract(ROOT_CONTEXT, request.headers);
        const route = request.routeOptions.url ?? '';
        const attributes = { 'http.request.method': request.method, 'http.route': route };
        const startTime = Date.now() - reply.elapsedTime;
        const span = tracer.startSpan(
          `${request.method} ${route}`,
          { kind: SpanKind.SERVER, attributes, startTime },
          parent,
        );
        request.traceId = span.spanContext().traceId;
        whenClosed(reply.raw, () => {
          // Nobody was answered where the client left first.
          if (reply.raw.headersSent) span.setAttribute('http.response.status_code', reply.statusCode);
          if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        });
        context.with(trace.setSpan(parent, span), done);
      });
    },
    traceEngine(engine) {
      const scorer: Analyzer = { analyze: (input, options) => engine.score(input, options as ScreeningCall) };
      const score = instrument(scorer).analyze as ScreeningEngine['score'];
      return Object.assign(Object.create(engine) as ScreeningEngine, { score });
    },
    close: () => sdk.shutdown(),
  };
}

/** @throws StoreError naming the packages that are missing */
async function loadPackages() {
  try {
    const { NodeSDK, resources } = await import('@opentelemetry/sdk-node');
    const { instrument } = await import('../opentelemetry.js');
    return { NodeSDK, resources, instrument, api: await import('@opentelemetry/api') };
  } catch (error) {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreError(
      'STORE_PACKAGE_MISSING',
      'OpenTelemetry needs packages: npm install @opentelemetry/api@1.9 @opentelemetry/sdk-node@0.223',
    );
  }
}

/** Gives requests their trace id: the caller's, by its `traceparent`, until a span of the service says otherwise. */
export function noteTraceIds(app: FastifyInstance): void {
  app.decorateRequest('traceId', undefined);
  app.addHook('preHandler', (request, _reply, done) => {
    request.traceId ??= traceIdOf(request);
    done();
  });
}

function traceIdOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
