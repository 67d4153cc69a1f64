import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import cookie from '@fastify/cookie';
import serveStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { dashboardApi } from './api/api.js';
import type { DashboardParts } from './api/api-parts.js';
import { securePages } from './secure-pages.js';

const sources = {
  scriptSrc: ["'self'"],
  // uPlot sets sizes by the style object, which the policy lets; nothing else is inline.
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  requireTrustedTypesFor: ["'script'"],
};

/**
 * The dashboard: the page under `/dashboard/`, its API under `/dashboard/api/`. Register it without a prefix.
 * `/dashboard/billing/stripe` takes Stripe's webhooks where `parts.stripe` is given.
 */
export async function dashboard(app: FastifyInstance, parts: DashboardParts): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      // Keeps the page's own routes out of the published schema.
      route.schema = Object.assign({ hide: true }, route.schema);
    });
    await securePages(scope, sources);
    scope.addHook('onSend', async (_request, reply) => {
      // The service opens its own routes to every origin; these are for the page alone.
      reply.removeHeader('Access-Control-Allow-Origin');
    });
    if (!scope.hasRequestDecorator('cookies')) await scope.register(cookie);
    await scope.register(async (inner) => dashboardApi(inner, parts), { prefix: '/dashboard/api' });
    await scope.register(serveStatic, {
      root: parts.webFolder ?? webFolder(),
      prefix: '/dashboard/',
      decorateReply: false,
      setHeaders: (reply, path) => {
        // File names carry a digest; the page itself is revalidated.
        reply.header('Cache-Control', path.endsWith('.html') ? 'no-cache' : 'public, max-age=31536000, immutable');
      },
    });
    scope.get('/dashboard', (_request, reply) => reply.redirect('/dashboard/', 302));
    if (parts.stripe !== undefined) stripeWebhook(scope, parts.stripe);
  });
}

function stripeWebhook(scope: FastifyInstance, stripe: NonNullable<DashboardParts['stripe']>): void {
  scope.register(async (inner) => {
    inner.removeAllContentTypeParsers();
    inner.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    inner.post('/dashboard/billing/stripe', async (request, reply) => {
      const signature = request.headers['stripe-signature'];
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const outcome = await stripe.webhook(body, typeof signature === 'string' ? signature : '');
      return reply.code(outcome === 'bad-signature' ? 400 : 200).send({ outcome });
    });
  });
}

/** The folder of the built page: next to the built program, or in the `dist` of a checkout. */
function webFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 4; up += 1) {
    for (const place of ['dashboard', join('dist', 'dashboard')]) {
      if (existsSync(join(folder, place, 'index.html'))) return join(folder, place);
    }
    folder = dirname(folder);
  }
  throw new Error('the dashboard is not built: npm run build');
}
