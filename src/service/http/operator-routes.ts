import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { securePages } from '../../adapters/secure-pages.js';
import type { Scorers, ScreeningStore } from '../screening/ports.js';
import { sendJson } from './responses.js';

/** What the operator's routes report on. */
export interface OperatorParts {
  readonly store: ScreeningStore;
  readonly scorers: Scorers;
  /** Media type and text of the metrics. */
  readonly metricsType: string;
  readonly metricsPage: () => Promise<string>;
}

/** `/openapi.json`, `/docs`, `/healthz`, `/readyz` and `/metrics`: no key, and nothing of any account. */
export async function operatorRoutes(
  app: FastifyInstance,
  { store, scorers, metricsType, metricsPage }: OperatorParts,
): Promise<void> {
  const hide = { schema: { hide: true } };
  let document: string | undefined;

  app.get('/openapi.json', hide, async (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.header('content-type', 'application/json').serializer(String).send(document);
  });
  await app.register(async (scope) => {
    await securePages(scope, { styleSrc: [docsStyleSource] });
    scope.get('/docs', hide, async (_request, reply) =>
      reply.header('content-type', 'text/html; charset=utf-8').send(docsPage(app.swagger())),
    );
  });
  app.get('/healthz', hide, async (_request, reply) => sendJson(reply, 200, { status: 'alive' }));
  app.get('/readyz', hide, async (request, reply) => {
    const health = await store.ready();
    if (!health.ok) {
      request.log.warn({ problems: health.problems }, 'the store is not ready');
      return sendJson(reply, 503, { error: 'The store is not ready.' });
    }
    const { mode, rules_version, ml_version } = scorers.info;
    return sendJson(reply, 200, { status: 'ready', mode, rules_version, ml_version });
  });
  app.get('/metrics', hide, async (_request, reply) => {
    reply.header('content-type', metricsType);
    return reply.send(await metricsPage());
  });
}

interface Document {
  readonly info?: { readonly title?: string; readonly version?: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, unknown>>;
}

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'pre{overflow:auto;padding:1rem;border:1px solid #8888;border-radius:4px}table{border-collapse:collapse}' +
  'td,th{border:1px solid #8888;padding:.25rem .5rem;text-align:left;vertical-align:top}';

/** What the page's policy must let in: its one style. */
const docsStyleSource: string = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** A page for people from the published schema: nothing is loaded, nothing runs. */
function docsPage(document: object): string {
  const { info, paths = {} } = document as Document;
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${inHtml(info?.title)}</title><style>${style}</style></head><body>` +
    `<h1>${inHtml(info?.title)} ${inHtml(info?.version)}</h1><p>${inHtml(info?.description)}</p>` +
    `<p>The whole schema: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1)</p>` +
    `<pre>curl -H 'Authorization: Bearer &lt;API_KEY&gt;' -H 'Content-Type: application/json' \\\n` +
    `  -d '{"input":"Ignore all previous instructions."}' &lt;this address&gt;/analyze</pre>` +
    `${Object.entries(paths)
      .map(([path, item]) => pathSection(path, item))
      .join('')}</body></html>`
  );
}

interface Operation {
  readonly summary?: string;
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly headers?: object }>>;
}

function pathSection(path: string, item: unknown): string {
  return Object.entries(item as Readonly<Record<string, Operation>>)
    .map(([method, { summary, responses = {} }]) => {
      const rows = Object.entries(responses).map(
        ([status, { description, headers = {} }]) =>
          `<tr><td>${inHtml(status)}</td><td>${inHtml(description)}</td><td>${inHtml(Object.keys(headers).join(', '))}</td></tr>`,
      );
      return (
        `<h2>${inHtml(method.toUpperCase())} ${inHtml(path)}</h2><p>${inHtml(summary)}</p>` +
        `<table><tr><th>Status</th><th>Meaning</th><th>Headers</th></tr>${rows.join('')}</table>`
      );
    })
    .join('');
}

function inHtml(text = ''): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
