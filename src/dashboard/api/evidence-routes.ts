import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import { whenClosed } from '../../adapters/when-closed.js';
import { ALL_CHANNELS } from '../../engine/channel.js';
import { TASK_LENGTH } from '../../engine/input.js';
import { createKeyedLimit } from '../../engine/limit.js';
import { edgeAfter } from '../../engine/span.js';
import type { RecordFilter, RecordPage, RecordView } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts, orRefuse, withoutHead } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const LABELS = ['false_alarm', 'missed_attack', 'correct_block', 'correct_allow'] as const;
const filterShape = {
  verdict: z.enum(['allow', 'block']).optional(),
  rule: z.string().max(200).optional(),
  decidedBy: z.enum(['rules', 'ml', 'ml-error-rules-fallback']).optional(),
  routerLevel: z.enum(['rules', 'advanced', 'deep']).optional(),
  channel: z.enum(ALL_CHANNELS).optional(),
  task: z.enum(['with', 'without']).optional(),
  keyId: z.string().max(100).optional(),
  run: z.string().max(200).optional(),
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
const playgroundBody = z.object({
  input: z.string(),
  channel: z.enum(ALL_CHANNELS).optional(),
  task: z
    .string()
    .refine(({ length }) => length <= TASK_LENGTH, `A task has at most ${TASK_LENGTH} characters.`)
    .optional(),
});
const types = { jsonl: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

const readFilter = ({ label, task, ...asked }: z.infer<z.ZodObject<typeof filterShape>>): RecordFilter => ({
  ...asked,
  label: label === 'none' ? null : label,
  hasTask: task === undefined ? undefined : task === 'with',
});

const noRecord = (): ApiError => new ApiError(404, 'There is no such record, or retention has removed it.');

/** Evidence: list, record, label, replay, export; and the playground, which makes it. */
export function evidenceRoutes(app: ApiApp, { store, service, longWork, traceUrl }: DashboardParts): void {
  const exporting = createKeyedLimit(EXPORTS_AT_ONCE);
  const find = async (accountId: string, id: string) => {
    const record = await store.evidence.get(accountId, id);
    if (record === undefined) throw noRecord();
    return record;
  };

  app.get('/evidence', { schema: { querystring: listQuery }, ...withoutHead }, async (request, reply) => {
    const { cursor, limit, ...asked } = request.query;
    const { accountId } = getMember(request);
    const page = await orRefuse(
      'STORE_SETTINGS',
      new ApiError(400, 'This page of the list does not exist; start at the beginning.'),
      store.evidence.list(accountId, readFilter(asked), cursor ?? null, limit),
    );
    reply.header('Content-Type', 'application/json; charset=utf-8');
    return reply.send(Readable.from(pageText(page, { accountId, longWork })));
  });
  app.get('/evidence/export', { schema: { querystring: exportQuery }, ...withoutHead }, async (request, reply) => {
    const { format, ...asked } = request.query;
    const { accountId } = getMember(request);
    const leave = exporting.enter(accountId);
    if (leave === undefined)
      throw new ApiError(503, 'Several exports of this account are already running; try again when one has ended.');
    // However it ends: a download that is broken off never reads to the end.
    whenClosed(reply.raw, leave);
    reply.header('Content-Type', types[format]);
    reply.header('Content-Disposition', `attachment; filename="evidence.${format}"`);
    const records = store.evidence.iterate(accountId, readFilter(asked));
    return reply.send(Readable.from(exportLines(records, format, { accountId, longWork })));
  });
  app.get('/evidence/:id', { schema: { params } }, async (request) => {
    const record = await find(getMember(request).accountId, request.params.id);
    const { trace_id: traceId } = record;
    return { record, traceUrl: traceId && traceUrl?.replaceAll('{trace_id}', traceId) };
  });
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
    const busy = new ApiError(503, 'Too many replays are running; try again in a moment.');
    return orRefuse('OVERLOADED', busy, service.replay(record, request.query.against));
  });

  app.post('/playground', { schema: { body: playgroundBody } }, async (request) => {
    const answer = await service.playground(getMember(request).accountId, request.body);
    if (answer.outcome === 'answered') return { record: answer.record };
    const status = { TRIAL_ENDED: 402, MONTHLY_LIMIT_REACHED: 429, OVERLOADED: 503 }[answer.code];
    throw new ApiError(status, answer.error);
  });
}

/** Exports of one account: each holds a connection and some records, for as long as its reader takes. */
const EXPORTS_AT_ONCE = 4;

const columns = [
  ...['id', 'time', 'verdict', 'rule', 'score', 'threshold', 'decided_by', 'mode', 'router_level', 'label', 'key_id'],
  ...['rules_version', 'ml_version', 'latency_ms', 'length', 'sha256', 'input_kept'],
  ...['channel', 'task_sha256', 'task', 'text'],
] as const;

/** In whose turns a response is written. */
interface Writing {
  readonly accountId: string;
  readonly longWork: DashboardParts['longWork'];
}

/** UTF-16 code units of records, about, that are written as JSON or CSV at once: a few milliseconds at most. */
const WRITTEN_AT_ONCE = 128 * 1024;
/** Approximate size of a record without a long text. */
const LEAST_OF_RECORD = 2_048;

type Write = (few: readonly RecordView[]) => Iterable<string>;

/** The records as text, a few at a time, each piece in a turn of the account. Holds those few only. */
async function* inPieces(
  records: AsyncIterable<RecordView> | Iterable<RecordView>,
  write: Write,
  { accountId, longWork }: Writing,
): AsyncGenerator<string, void, undefined> {
  async function* written(few: readonly RecordView[]): AsyncGenerator<string, void, undefined> {
    const pieces = write(few)[Symbol.iterator]();
    for (;;) {
      const next = () => pieces.next();
      const piece = longWork === undefined ? next() : await longWork(accountId, WRITTEN_AT_ONCE, next);
      if (piece.done) return;
      yield piece.value;
    }
  }
  let few: RecordView[] = [];
  let size = 0;
  for await (const record of records) {
    few.push(record);
    size += LEAST_OF_RECORD + (record.input.text?.length ?? 0) + (record.task?.text?.length ?? 0);
    if (size < WRITTEN_AT_ONCE) continue;
    yield* written(few);
    few = [];
    size = 0;
  }
  if (few.length > 0) yield* written(few);
}

/** The JSON of a page, which may be many megabytes. */
async function* pageText({ records, ...rest }: RecordPage, writing: Writing): AsyncGenerator<string, void, undefined> {
  let isFirst = true;
  yield `${JSON.stringify(rest).slice(0, -1)},"records":[`;
  for await (const few of inPieces(records, (some) => [JSON.stringify(some).slice(1, -1)], writing)) {
    yield isFirst ? few : `,${few}`;
    isFirst = false;
  }
  yield ']}';
}

/** Records as JSON lines, or as CSV with a head. */
export async function* exportLines(
  records: AsyncIterable<RecordView>,
  format: 'jsonl' | 'csv',
  writing: Writing,
): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  yield* inPieces(records, format === 'csv' ? toCsv : toJsonLines, writing);
}

function toJsonLines(records: readonly RecordView[]): readonly string[] {
  return [records.map((record) => `${JSON.stringify(record)}\n`).join('')];
}

/** UTF-16 code units of a text that are written as a part of a cell at once: each may be a quote. */
const CELL_AT_ONCE = 32 * 1024;
/** Characters that a spreadsheet reads as the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

function* toCsv(records: readonly RecordView[]): Generator<string, void, undefined> {
  let rows: (string | number)[][] = [];
  // A cell that a spreadsheet would run as a formula gets an apostrophe in front.
  const written = (): string => stringify(rows, { escape_formulas: true, record_delimiter: 'windows' });
  for (const { verdict, input, task, ...record } of records) {
    const text = input.text ?? '';
    const isLong = text.length > CELL_AT_ONCE;
    rows.push([
      ...[record.id, record.time, verdict.verdict, verdict.rule, verdict.score, verdict.threshold],
      ...[verdict.decided_by, verdict.mode, record.router_level, record.label ?? '', record.key_id ?? ''],
      ...[verdict.rules_version, verdict.ml_version, verdict.latency_ms, input.length, input.sha256, input.kept],
      ...[record.channel, task?.sha256 ?? '', task?.text ?? ''],
      isLong ? '' : text,
    ]);
    if (!isLong) continue;
    // The text is the last cell of its row.
    yield `${written().trimEnd()}"${FORMULA.test(text) ? "'" : ''}`;
    rows = [];
    for (let at = 0; at < text.length; ) {
      // Each piece is sent as UTF-8: none may end in the middle of a surrogate pair.
      const next = edgeAfter(text, at + CELL_AT_ONCE);
      yield text.slice(at, next).replaceAll('"', '""');
      at = next;
    }
    yield '"\r\n';
  }
  if (rows.length > 0) yield written();
}
