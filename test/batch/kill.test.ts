import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readRows } from './read-rows.js';

// The long form: npm run proof -- batch
const kills = Number(process.env.PORTCULLIS_PROOF_BATCH_KILLS ?? 4);
const rows = Number(process.env.PORTCULLIS_PROOF_BATCH_KILL_ROWS ?? 20_000);
const folder = mkdtempSync(join(tmpdir(), 'portcullis-batch-kill-'));
afterAll(() => rmSync(folder, { recursive: true }));

const texts = readFileSync(new URL('../regression/attacks.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => String((JSON.parse(line) as { text: unknown }).text).slice(0, 120));
const source = join(folder, 'in.jsonl');
writeFileSync(
  source,
  Array.from({ length: rows }, (_, id) =>
    JSON.stringify(
      id % 997 === 0 ? { id } : { id, text: id % 9 === 0 ? `${texts[id % texts.length]} ${id}` : `Row ${id % 3_000}.` },
    ),
  ).join('\n'),
);

interface Ended {
  readonly killed: boolean;
  readonly status: number | null;
  readonly ms: number;
  readonly said: string;
}

/** Every row was answered, some with an error. */
const COMPLETE = { killed: false, status: 1, said: expect.stringContaining('"summary"') };

/** When a batch is ended: so many milliseconds after its start, or after it has left its first resume point. */
interface Kill {
  readonly ms: number;
  readonly after: 'start' | 'point';
}

/** Runs a batch; ends the whole of it without a word where a kill is given. */
const run = (out: string, kill?: Kill): Promise<Ended> =>
  new Promise((resolve) => {
    const started = performance.now();
    const args = ['dist/cli/main.js', 'batch', source, '--out', out, '--resume', '--workers', '2', '--mode', 'rules'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said = (said + piece).slice(-1_000);
    });
    let from = kill?.after === 'start' ? started : undefined;
    const timer = setInterval(() => {
      if (kill?.after === 'point' && existsSync(`${out}.resume.json`)) from ??= performance.now();
      if (kill !== undefined && from !== undefined && performance.now() - from >= kill.ms) child.kill('SIGKILL');
    }, 5);
    child.on('close', (status, signal) => {
      clearInterval(timer);
      resolve({ killed: signal === 'SIGKILL', status, ms: performance.now() - started, said });
    });
  });

/** What must be the same in each run, as text: CSV has no other. */
const comparable = async (out: string): Promise<readonly string[]> =>
  (await readRows(out)).map(({ id, verdict, rule, score, decided_by, rules_version, error, line }) =>
    [id, verdict, rule, score, decided_by, rules_version, error, line].map((value) => String(value ?? '')).join('|'),
  );

test(`${kills} kills at random moments, each gone on with: the rows of an undisturbed run`, async () => {
  const whole = join(folder, 'whole.jsonl');
  const undisturbed = await run(whole);
  expect(undisturbed).toMatchObject(COMPLETE);
  const expected = await comparable(whole);
  expect(expected).toHaveLength(rows);

  // What a whole run takes now: a machine that gets less to do gets quicker.
  let wholeMs = undisturbed.ms;
  let left = kills;
  let wentOn = 0;
  for (let round = 0; left > 0; round += 1) {
    const out = join(folder, `out-${round}.${['jsonl', 'csv.gz', 'parquet', 'jsonl.gz'][round % 4]}`);
    // A few kills an output, so that each format has its turn; then it may finish.
    for (let kill = 0; kill < 4 && left > 0; kill += 1) {
      const after = left % 2 === 0 ? 'point' : 'start';
      const ended = await run(out, { ms: Math.random() * (after === 'point' ? wholeMs / 2 : wholeMs), after });
      if (!ended.killed) {
        expect(ended).toMatchObject(COMPLETE);
        wholeMs = Math.min(wholeMs, ended.ms);
        break;
      }
      left -= 1;
      if (existsSync(`${out}.resume.json`)) wentOn += 1;
    }
    if (!existsSync(out)) expect(await run(out)).toMatchObject(COMPLETE);
    expect(await comparable(out)).toEqual(expected);
    expect(existsSync(`${out}.partial`) || existsSync(`${out}.resume.json`) || existsSync(`${out}.made`)).toBe(false);
    rmSync(out);
  }
  expect(wentOn).toBeGreaterThan(0);
  console.log(`${kills} kills; ${wentOn} left something to go on with; undisturbed ${Math.round(undisturbed.ms)} ms`);
}, 3_600_000);
