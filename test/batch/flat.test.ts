import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, expect, test } from 'vitest';

// The long form, 10 million short rows and a file of 1 GB: npm run proof -- batch
const manyRows = Number(process.env.PORTCULLIS_PROOF_BATCH_ROWS ?? 60_000);
const manyBytes = Number(process.env.PORTCULLIS_PROOF_BATCH_BYTES ?? 40_000_000);
const folder = mkdtempSync(join(process.env.PORTCULLIS_PROOF_FOLDER ?? tmpdir(), 'portcullis-batch-flat-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SENTENCE = 'The quarterly review of the garden budget is moved to Tuesday at ten, please bring your notes. ';

function* shortRows(): Generator<string> {
  // Most texts come again, as in logs; one of 500 is new.
  for (let id = 0; id < manyRows; id += 1)
    yield `{"id":${id},"text":"Agenda item ${id % 500 === 0 ? id : id % 2_000}: budget."}\n`;
}

function* longRows(): Generator<string> {
  const long = SENTENCE.repeat(105);
  for (let at = 0, bytes = 0; bytes < manyBytes; at += 1) {
    const row = `{"id":${at},"text":"${at % 100 === 0 ? at : at % 300} ${long}"}\n`;
    bytes += row.length;
    yield row;
  }
}

function* inPieces(rows: Iterable<string>): Generator<string> {
  let piece = '';
  for (const row of rows) {
    piece += row;
    if (piece.length < 1_000_000) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Resident memory of a process and all below it, in bytes. */
function treeBytes(root: number): number {
  const parents = new Map<number, number>();
  const resident = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      parents.set(Number(name), Number(fields[1]));
      resident.set(Number(name), Number(fields[21]) * 4_096);
    } catch {
      // It ended while we looked.
    }
  }
  const within = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && pid > 1 && within(parents.get(pid)));
  return [...resident].reduce((sum, [pid, bytes]) => sum + (within(pid) ? bytes : 0), 0);
}

test.each([
  ['short rows', shortRows],
  ['long rows', longRows],
] as const)(
  '%s: memory under 600 MB, whatever the size',
  async (name, rowsOf) => {
    const source = join(folder, 'in.jsonl');
    await pipeline(Readable.from(inPieces(rowsOf())), createWriteStream(source));
    const out = join(folder, 'out.jsonl');
    const started = performance.now();
    const args = ['dist/cli/main.js', 'batch', source, '--out', out, '--workers', '2', '--mode', 'rules', '--json'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said = (said + piece).slice(-4_000);
    });
    let peak = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, treeBytes(child.pid as number));
    }, 250);
    const status = await new Promise((resolve) => child.once('close', resolve));
    clearInterval(timer);
    expect(status).toBe(0);
    const summary = JSON.parse(said.trim().split('\n').at(-1) ?? '') as { rows: number; repeated: number };
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    console.log(
      `${name}: ${summary.rows} rows (${summary.repeated} repeated), ${statSync(source).size} bytes, ${seconds} s, peak ${Math.round(peak / 1e6)} MB`,
    );
    expect(summary.rows).toBeGreaterThan(1_000);
    expect(peak).toBeGreaterThan(1e8);
    expect(peak).toBeLessThan(600e6);
    rmSync(source);
    rmSync(out);
  },
  7_200_000,
);
