import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import type { EvidenceStore } from '../../store/evidence-store.js';
import type { RecordFilter, RecordPage, RecordView } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts, orRefuse } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const LABELS = ['false_alarm', 'missed_attack', 'correct_block', 'correct_allow'] as const;
const filterShape = {
  verdict: z.enum(['allow', 'block']).optional(),
  rule: z.string().max(200).optional(),
  decidedBy: z.enum(['rules', 'ml', 'ml-error-rules-fallback']).optional(),
  routerLevel: z.enum(['rules', 'advanced', 'deep']).optional(),
  keyId: z.string().max(100).optional(),
  label: z.enum([...LABELS, 'none']).optional(),
  from: z.coerce.number().int().min(0).optional(),
  to: z.coerce.number().int().min(0).optional(),
  text: z.string().max(500).optional(),
};
const listQuery = z.object({
  ...filterShape,
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
const exportQuery = z.object({ ...filterShape, format: z.enum(['jsonl', 'csv']) });
const params = z.object({ id: z.string().regex(/^ev_[0-9a-f]{24}$/, 'An evidence id is ev_ and 24 hex digits.') });
const replayQuery = z.object({ against: z.enum(['recorded', 'current']).default('recorded') });
const labelBody = z.object({ label: z.enum(LABELS).nullable() });
const playgroundBody = z.object({ input: z.string() });
const types = { jsonl: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

const readFilter = ({ label, ...asked }: z.infer<z.ZodObject<typeof filterShape>>): RecordFilter => ({
  ...asked,
  label: label === 'none' ? null : label,
});

const noRecord = (): ApiError => new ApiError(404, 'There is no such record, or retention has removed it.');

/** Evidence: list, record, label, replay, export; and the playground, which makes it. */
export function evidenceRoutes(app: ApiApp, { store, service }: DashboardParts): void {
  const find = async (accountId: string, id: string) => {
    const record = await store.evidence.get(accountId, id);
    if (record === undefined) throw noRecord();
    return record;
  };

  app.get('/evidence', { schema: { querystring: listQuery } }, async (request) => {
    const { cursor, limit, ...asked } = request.query;
    return orRefuse(
      'STORE_SETTINGS',
      new ApiError(400, 'This page of the list does not exist; start at the beginning.'),
      store.evidence.list(getMember(request).accountId, readFilter(asked), cursor ?? null, limit),
    );
  });
  app.get('/evidence/export', { schema: { querystring: exportQuery } }, async (request, reply) => {
    const { format, ...asked } = request.query;
    const { accountId } = getMember(request);
    reply.header('Content-Type', types[format]);
    reply.header('Content-Disposition', `attachment; filename="evidence.${format}"`);
    return reply.send(Readable.from(exportLines(store.evidence, accountId, readFilter(asked), format)));
  });
  app.get('/evidence/:id', { schema: { params } }, async (request) => ({
    record: await find(getMember(request).accountId, request.params.id),
  }));
  app.put('/evidence/:id/label', { schema: { params, body: labelBody } }, async (request) => {
    const { label } = request.body;
    await orRefuse(
      'STORE_NOT_FOUND',
      noRecord(),
      store.evidence.label(getMember(request).accountId, request.params.id, label),
    );
    return { label };
  });
  app.post('/evidence/:id/replay', { schema: { params, querystring: replayQuery } }, async (request) => {
    const record = await find(getMember(request).accountId, request.params.id);
    try {
      return await service.replay(record, request.query.against);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'OverloadedError')) throw error;
      throw new ApiError(503, 'Too many replays are under way; try again in a moment.');
    }
  });

  app.post('/playground', { schema: { body: playgroundBody } }, async (request) => {
    const answer = await service.playground(getMember(request).accountId, request.body.input);
    if (answer.outcome === 'answered') return { record: answer.record };
    const status = { TRIAL_ENDED: 402, MONTHLY_LIMIT_REACHED: 429, OVERLOADED: 503 }[answer.code];
    throw new ApiError(status, answer.error);
  });
}

const PAGE_SIZE = 500;
const columns = [
  ...['id', 'time', 'verdict', 'rule', 'score', 'threshold', 'decided_by', 'mode', 'router_level', 'label', 'key_id'],
  ...['rules_version', 'ml_version', 'latency_ms', 'length', 'sha256', 'input_kept', 'text'],
] as const;

/** The records that fit, newest first, page by page, as JSON lines or as CSV with a head. Holds one page at a time. */
export async function* exportLines(
  evidence: Pick<EvidenceStore, 'list'>,
  accountId: string,
  filter: RecordFilter,
  format: 'jsonl' | 'csv',
): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  let cursor: string | null = null;
  do {
    const page: RecordPage = await evidence.list(accountId, filter, cursor, PAGE_SIZE);
    const lines =
      format === 'csv' ? toCsv(page.records) : page.records.map((record) => `${JSON.stringify(record)}\n`).join('');
    if (lines !== '') yield lines;
    cursor = page.next;
  } while (cursor !== null);
}

function toCsv(records: readonly RecordView[]): string {
  const rows = records.map(({ verdict, input, ...record }) => [
    ...[record.id, record.time, verdict.verdict, verdict.rule, verdict.score, verdict.threshold],
    ...[verdict.decided_by, verdict.mode, record.router_level, record.label ?? '', record.key_id ?? ''],
    ...[verdict.rules_version, verdict.ml_version, verdict.latency_ms, input.length, input.sha256, input.kept],
    input.text ?? '',
  ]);
  // A cell that a spreadsheet would run as a formula gets an apostrophe in front.
  return stringify(rows, { escape_formulas: true, record_delimiter: 'windows' });
}
