import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'csv-stringify/sync';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterAll, expect, test } from 'vitest';
import { createEngine, findModel, loadModel, type Verdict } from '../../src/index.js';
import { runCommand } from '../cli/run-cli.js';
import { readRows } from './read-rows.js';

// The long form, on all texts of a file of {"text"}: npm run proof -- batch --texts FILE
const file = process.env.PORTCULLIS_PROOF_BATCH_TEXTS ?? 'test/regression/attacks.jsonl';
const most = process.env.PORTCULLIS_PROOF_BATCH_TEXTS === undefined ? 60 : Number.POSITIVE_INFINITY;
const modes = (process.env.PORTCULLIS_PROOF_BATCH_MODES ?? 'rules,hybrid').split(',') as readonly (
  | 'rules'
  | 'hybrid'
)[];
const FORMATS = [
  ['in.jsonl', 'out.jsonl', 1],
  ['in.csv', 'out.parquet', 2],
  ['in.parquet', 'out.csv', 3],
  ['in.jsonl.gz', 'out.jsonl.gz', 4],
] as const;
const folder = mkdtempSync(join(tmpdir(), 'portcullis-batch-verdicts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const HOUR = 3_600_000;

const texts = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .slice(0, most)
  .map((line) => (JSON.parse(line) as { readonly text: string }).text);
const jsonl = texts.map((text, id) => `${JSON.stringify({ id, text })}\n`).join('');
writeFileSync(join(folder, 'in.jsonl'), jsonl);
writeFileSync(join(folder, 'in.jsonl.gz'), gzipSync(jsonl));
writeFileSync(join(folder, 'in.csv'), stringify([['id', 'text'], ...texts.map((text, id) => [String(id), text])]));
parquetWriteFile({
  filename: join(folder, 'in.parquet'),
  columnData: [
    { name: 'id', data: texts.map((_, id) => id), type: 'INT32' },
    { name: 'text', data: texts, type: 'STRING' },
  ],
});

/** What a verdict says, without what differs from call to call; as text, since CSV has no other. */
const essence = (verdict: Readonly<Record<string, unknown>>): string => {
  const { rule, reason, score, threshold, decided_by, rules_version, ml_version, mode } = verdict;
  const parts = [verdict.verdict, rule, reason, score, threshold, decided_by, rules_version, ml_version, mode];
  return parts.map((part) => (typeof part === 'number' ? part.toPrecision(12) : String(part ?? ''))).join('|');
};
/** CSV gives numbers as text. */
const numbers = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  ...row,
  score: Number(row.score),
  threshold: Number(row.threshold),
});

const analyzed = new Map<string, readonly string[]>();
async function verdictsOfAnalyze(mode: 'rules' | 'hybrid'): Promise<readonly string[]> {
  const known = analyzed.get(mode);
  if (known !== undefined) return known;
  const model = mode === 'rules' ? (false as const) : await loadModel(findModel() as string, { isolation: 'inline' });
  const engine = createEngine({ mode, model, timeoutMs: 120_000 });
  const verdicts: Verdict[] = [];
  for (const text of texts) verdicts.push(await engine.analyze(text));
  await engine.close();
  const essences = verdicts.map((verdict) => essence({ ...verdict }));
  analyzed.set(mode, essences);
  return essences;
}

test.each(modes.flatMap((mode) => FORMATS.map((one) => [mode, ...one] as const)))(
  'mode %s, %s to %s with %i scorers: the verdicts of analyze',
  async (mode, from, to, scorers) => {
    const out = join(folder, to);
    const args = ['batch', join(folder, from), '--out', out, '--mode', mode, '--workers', String(scorers)];
    const run = await runCommand(args);
    const summary = JSON.parse(run.stderr.trim().split('\n').at(-1) ?? '');
    expect(summary).toMatchObject({ event: 'summary', rows: texts.length, bad: 0, model_fallbacks: 0 });
    expect(existsSync(out)).toBe(true);
    const rows = await readRows(out);
    const expected = await verdictsOfAnalyze(mode);
    expect(rows.map((row) => Number(row.id))).toEqual(texts.map((_, id) => id));
    const other = rows.flatMap((row, at) =>
      essence(numbers(row)) === expected[at] ? [] : [[at, essence(numbers(row)), expected[at]]],
    );
    expect(other).toEqual([]);
    expect(expected.some((one) => one.startsWith('block')) && new Set(expected).size > 5).toBe(true);
    rmSync(out);
  },
  HOUR,
);
