import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Engine, JsonValue, Verdict } from '../index.js';
import type { JsonLine } from './json-lines.js';

export interface BatchCounts {
  readonly rows: number;
  readonly blocked: number;
  /** Rows that were answered with an error. */
  readonly bad: number;
}

interface BatchJob {
  readonly engine: Pick<Engine, 'analyze'>;
  readonly textField: string;
  /** Undefined: the field `id` where a row has one, else its line number. */
  readonly idField: string | undefined;
  readonly onProgress: (counts: BatchCounts) => void;
}

type Answer =
  | ({ readonly id: unknown } & Verdict)
  | { readonly id: unknown; readonly line: number; readonly error: string };

/** Rows asked at once: enough to keep a model's processes busy, few enough to hold in memory. */
const rowsAtOnce = 32;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const answerRow = async ({ line, content }: JsonLine, job: BatchJob): Promise<Answer> => {
  const bad = (error: string, id: unknown = null): Answer => ({ id, line, error });
  if ('error' in content) return bad(content.error);
  const row = content.value;
  if (!isObject(row)) return bad('not a JSON object');
  const idField = job.idField ?? 'id';
  if (job.idField !== undefined && !Object.hasOwn(row, idField)) return bad(`no field "${idField}"`);
  const id = Object.hasOwn(row, idField) ? row[idField] : line;
  if (!Object.hasOwn(row, job.textField)) return bad(`no field "${job.textField}"`, id);
  // The value came out of JSON.parse. Anything but a string is screened as its JSON text.
  return { id, ...(await job.engine.analyze(row[job.textField] as JsonValue)) };
};

/** Screens rows and writes one answer a line, in the order of the rows. Ends the sink unless it is standard output. */
export const screenRows = async (
  lines: AsyncIterable<JsonLine>,
  sink: Writable,
  job: BatchJob,
): Promise<BatchCounts> => {
  let counts: BatchCounts = { rows: 0, blocked: 0, bad: 0 };
  const failure = { error: undefined as Error | undefined };
  sink.on('error', (error) => {
    failure.error = error;
  });
  const answerAll = async (pending: readonly JsonLine[]): Promise<void> => {
    const answers = await Promise.all(pending.map((line) => answerRow(line, job)));
    for (const answer of answers) {
      const bad = 'error' in answer;
      counts = {
        rows: counts.rows + 1,
        blocked: counts.blocked + (!bad && answer.verdict === 'block' ? 1 : 0),
        bad: counts.bad + (bad ? 1 : 0),
      };
    }
    if (failure.error) throw failure.error;
    const written = sink.write(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
    job.onProgress(counts);
    if (!written) await once(sink, 'drain');
  };
  let pending: JsonLine[] = [];
  for await (const line of lines) {
    pending.push(line);
    if (pending.length < rowsAtOnce) continue;
    await answerAll(pending);
    pending = [];
  }
  if (pending.length > 0) await answerAll(pending);
  if (sink !== process.stdout) {
    sink.end();
    await finished(sink);
  }
  return counts;
};
