import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import type { AuditEntry, WebhookEvent } from '../../store/operations-store.js';
import { type ApiApp, ApiError, type DashboardParts, orRefuse, withoutHead } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const filterShape = {
  actor: z.string().max(254).optional(),
  action: z.string().max(60).optional(),
  from: z.coerce.number().int().min(0).optional(),
  to: z.coerce.number().int().min(0).optional(),
};
const auditQuery = z.object({ ...filterShape, after: z.string().max(40).optional() });
const exportQuery = z.object({ ...filterShape, format: z.enum(['jsonl', 'csv']) });
const PAGE_SIZE = 100;

const EVENTS = [
  'quota.low',
  'quota.exhausted',
  'blocks.spike',
  'model.failing',
] as const satisfies readonly WebhookEvent[];
const webhookBody = z.object({
  url: z.string().trim().min(1).max(500),
  events: z.array(z.enum(EVENTS)).min(1, 'Choose at least one event.').max(EVENTS.length),
});
const params = z.object({ id: z.string().min(1).max(100) });
const MOST_WEBHOOKS = 5;
const LISTED_DELIVERIES = 25;
/** A test can't be used to flood somebody. Milliseconds. */
const BETWEEN_TESTS = 10_000;

export function operationsRoutes(app: ApiApp, { store, webhooks, now }: DashboardParts): void {
  app.get('/audit', { schema: { querystring: auditQuery } }, async (request) => {
    const { after, ...filter } = request.query;
    const entries = await store.audit.list(getMember(request).accountId, filter, after ?? null, PAGE_SIZE);
    return { entries: entries.map(shown), next: entries.length === PAGE_SIZE ? (entries.at(-1)?.id ?? null) : null };
  });
  app.get('/audit/export', { schema: { querystring: exportQuery }, ...withoutHead }, async (request, reply) => {
    const { format, ...filter } = request.query;
    reply.header('Content-Type', format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8');
    reply.header('Content-Disposition', `attachment; filename="audit.${format}"`);
    const page = (after: string | null) => store.audit.list(getMember(request).accountId, filter, after, 500);
    return reply.send(Readable.from(auditLines(page, format)));
  });

  app.get('/webhooks', async (request) => {
    const { accountId } = getMember(request);
    const listed = await store.webhooks.list(accountId);
    return {
      events: EVENTS,
      webhooks: await Promise.all(
        listed.map(async ({ id, url, events: wanted, createdAt }) => ({
          ...{ id, url, events: wanted, createdAt },
          deliveries: (await store.webhooks.deliveries(accountId, id, LISTED_DELIVERIES)).map(
            ({ webhookId: _webhookId, body: _body, ...delivery }) => delivery,
          ),
        })),
      ),
    };
  });
  app.post('/webhooks', { schema: { body: webhookBody } }, async (request) => {
    const { accountId } = getMember(request);
    const { url, events: wanted } = request.body;
    const problem = webhooks.urlProblem(url);
    if (problem !== undefined) throw new ApiError(400, problem);
    if ((await store.webhooks.list(accountId)).length >= MOST_WEBHOOKS)
      throw new ApiError(409, `An account has at most ${MOST_WEBHOOKS} webhooks. Remove one first.`);
    const { id, secret } = await store.webhooks.create(accountId, new URL(url).href, [...new Set(wanted)]);
    return { id, secret };
  });
  const unknown = (): ApiError => new ApiError(404, 'There is no such webhook.');
  app.delete('/webhooks/:id', { schema: { params } }, async (request) => {
    const { id } = request.params;
    await orRefuse('STORE_NOT_FOUND', unknown(), store.webhooks.remove(getMember(request).accountId, id));
    return { removed: id };
  });
  app.post('/webhooks/:id/test', { schema: { params } }, async (request) => {
    const { accountId } = getMember(request);
    const { id } = request.params;
    const [last] = await orRefuse('STORE_NOT_FOUND', unknown(), store.webhooks.deliveries(accountId, id, 1));
    if (last !== undefined && now() - last.createdAt < BETWEEN_TESTS)
      throw new ApiError(429, 'A message was sent a moment ago. Try again in ten seconds.');
    await store.webhooks.send(id, 'webhook.test', webhooks.testBody(accountId));
    return { sent: id };
  });
}

const shown = ({ accountId: _accountId, ...entry }: AuditEntry): Omit<AuditEntry, 'accountId'> => entry;

type AuditPage = (after: string | null) => Promise<readonly AuditEntry[]>;

async function* auditLines(page: AuditPage, format: 'jsonl' | 'csv'): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield 'id,time,actor,action,target,detail\r\n';
  let after: string | null = null;
  for (;;) {
    const entries: readonly AuditEntry[] = await page(after);
    if (entries.length === 0) return;
    yield format === 'jsonl'
      ? entries.map((entry) => `${JSON.stringify(shown(entry))}\n`).join('')
      : stringify(
          entries.map(({ id, at, actor, action, target, detail }) => [
            ...[id, new Date(at).toISOString(), actor, action, target, JSON.stringify(detail)],
          ]),
          { escape_formulas: true, record_delimiter: 'windows' },
        );
    after = entries.at(-1)?.id ?? null;
  }
}
