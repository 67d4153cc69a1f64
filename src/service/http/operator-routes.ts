import type { FastifyInstance } from 'fastify';
import { securePages } from '../../dashboard/secure-pages.js';
import type { ScreeningEngine, ScreeningStore } from '../screening/ports.js';
import { docsPage, docsStyleSource } from './docs-page.js';
import { sendJson } from './responses.js';

export interface OperatorParts {
  readonly store: ScreeningStore;
  readonly engine: ScreeningEngine;
  /** Media type and text of the metrics. */
  readonly metricsType: string;
  readonly metricsPage: () => Promise<string>;
  /** Address at which callers reach the service; default: the one of the request. */
  readonly publicUrl?: string | undefined;
}

/** `/openapi.json`, `/docs`, `/healthz`, `/readyz` and `/metrics`: no key, and nothing of any account. */
export async function operatorRoutes(
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
