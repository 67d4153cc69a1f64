import { Readable } from 'node:stream';
import { z } from 'zod';
import type { RecordFilter } from '../ports.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { exportLines } from './export-lines.js';
import { memberOf } from './guard.js';

const filterShape = {
  verdict: z.enum(['allow', 'block']).optional(),
  rule: z.string().max(200).optional(),
  decidedBy: z.enum(['rules', 'ml', 'ml-error-rules-fallback']).optional(),
  routerLevel: z.enum(['rules', 'advanced', 'deep']).optional(),
  keyId: z.string().max(100).optional(),
  label: z.enum(['false_alarm', 'missed_attack', 'none']).optional(),
  from: z.coerce.number().int().min(0).optional(),
  to: z.coerce.number().int().min(0).optional(),
  text: z.string().min(3, 'At least three characters.').max(500).optional(),
};
const listQuery = z.object({
  ...filterShape,
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
const exportQuery = z.object({ ...filterShape, format: z.enum(['jsonl', 'csv']) });
const params = z.object({ id: z.string().regex(/^ev_[0-9a-f]{24}$/, 'An evidence id is ev_ and 24 hex digits.') });
const replayQuery = z.object({ against: z.enum(['recorded', 'current']).default('recorded') });
const labelBody = z.object({ label: z.enum(['false_alarm', 'missed_attack']).nullable() });
const playgroundBody = z.object({ input: z.string() });
const types = { jsonl: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

const filterOf = ({ label, ...asked }: z.infer<z.ZodObject<typeof filterShape>>): RecordFilter => ({
  ...asked,
  label: label === 'none' ? null : label,
});

/** Evidence: list, record, label, replay, export; and the playground, which makes it. */
export function evidenceRoutes(app: ApiApp, { store, service }: DashboardParts): void {
  const find = async (accountId: string, id: string) => {
    const record = await store.record(accountId, id);
    if (record === undefined) throw new ApiError(404, 'There is no such record, or retention has removed it.');
    return record;
  };

  app.get('/evidence', { schema: { querystring: listQuery } }, async (request) => {
    const { cursor, limit, ...asked } = request.query;
    const page = await store.records(memberOf(request).accountId, filterOf(asked), cursor ?? null, limit);
    if (page === undefined) throw new ApiError(400, 'No list goes on from there; start at its beginning.');
    return page;
  });
  app.get('/evidence/export', { schema: { querystring: exportQuery } }, async (request, reply) => {
    const { format, ...asked } = request.query;
    const { accountId } = memberOf(request);
    reply.header('Content-Type', types[format]);
    reply.header('Content-Disposition', `attachment; filename="evidence.${format}"`);
    return reply.send(Readable.from(exportLines(store, accountId, filterOf(asked), format)));
  });
  app.get('/evidence/:id', { schema: { params } }, async (request) => ({
    record: await find(memberOf(request).accountId, request.params.id),
  }));
  app.put('/evidence/:id/label', { schema: { params, body: labelBody } }, async (request) => {
    const { label } = request.body;
    if (!(await store.labelRecord(memberOf(request).accountId, request.params.id, label)))
      throw new ApiError(404, 'There is no such record, or retention has removed it.');
    return { label };
  });
  app.post('/evidence/:id/replay', { schema: { params, querystring: replayQuery } }, async (request) => {
    const record = await find(memberOf(request).accountId, request.params.id);
    try {
      return await service.replay(record, request.query.against);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'OverloadedError')) throw error;
      throw new ApiError(503, 'Too many replays are under way; try again in a moment.');
    }
  });

  app.post('/playground', { schema: { body: playgroundBody } }, async (request) => {
    const answer = await service.playground(memberOf(request).accountId, request.body.input);
    if (answer.outcome === 'answered') return { record: answer.record };
    const status = { TRIAL_ENDED: 402, MONTHLY_LIMIT_REACHED: 429, OVERLOADED: 503 }[answer.code];
    throw new ApiError(status, answer.error);
  });
}
