import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { screenRows } from '../../src/cli/batch-rows.js';
import { jsonLines } from '../../src/cli/json-lines.js';
import type { Engine, Verdict } from '../../src/index.js';

const verdict: Verdict = {
  verdict: 'allow',
  confidence: 0.1,
  rule: 'none',
  reason: null,
  rules_version: '1.0.0+000000000000',
  evidence_id: 'ev_000000000000000000000000',
  latency_ms: 0,
  score: 0.1,
  threshold: 0.5,
  decided_by: 'rules',
  ml_version: 'off',
  ml_threshold: 0.5,
  mode: 'rules',
};

/** Answers with the length of the text as `latency_ms`, later for shorter texts. */
const engine = {
  analyze: async (input: unknown): Promise<Verdict> => {
    const length = JSON.stringify(input).length;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 20 - length)));
    return { ...verdict, latency_ms: length };
  },
} as Pick<Engine, 'analyze'>;

const run = async (text: string, fields: { textField?: string; idField?: string }) => {
  const source = new PassThrough();
  source.end(text);
  const written: string[] = [];
  const sink = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      setImmediate(done);
    },
  });
  const counts = await screenRows(jsonLines(source, 1_000), sink, {
    engine,
    textField: fields.textField ?? 'text',
    idField: fields.idField,
    onProgress: () => {},
  });
  return {
    counts,
    rows: written
      .join('')
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row)),
  };
};

test('keeps the order of the rows however long each takes', async () => {
  const texts = Array.from({ length: 100 }, (_, at) => ({ id: `r${at}`, text: 'x'.repeat(at % 17) }));
  const { counts, rows } = await run(texts.map((row) => JSON.stringify(row)).join('\n'), {});
  expect(counts).toEqual({ rows: 100, blocked: 0, bad: 0 });
  expect(rows.map((row) => [row.id, row.latency_ms])).toEqual(texts.map(({ id, text }) => [id, text.length + 2]));
});

test.each([
  ['broken JSON', '{"text":', {}, { id: null, line: 1 }, /not valid JSON/],
  ['no object', '[1]', {}, { id: null, line: 1 }, /not a JSON object/],
  ['no text', '{"id":7}', {}, { id: 7, line: 1 }, /no field "text"/],
  ['no id where one is asked for', '{"text":"a"}', { idField: 'key' }, { id: null, line: 1 }, /no field "key"/],
])('answers %s with an error and its line', async (_name, line, fields, expected, error) => {
  const { counts, rows } = await run(`${line}\n{"id":"next","key":"next","text":"b"}\n`, fields);
  expect(counts).toEqual({ rows: 2, blocked: 0, bad: 1 });
  expect(rows[0]).toMatchObject(expected);
  expect(rows[0].error).toMatch(error);
  expect(rows[1]).toMatchObject({ id: 'next', verdict: 'allow' });
});

test('takes the line number where a row has no id, and screens other types than text', async () => {
  const { rows } = await run('{"body":["a"]}\n{"body":null,"id":0}\n', { textField: 'body' });
  expect(rows.map((row) => [row.id, row.verdict])).toEqual([
    [1, 'allow'],
    [0, 'allow'],
  ]);
});
