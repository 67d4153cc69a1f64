/**
 * npm run bench -- batch [--rows N] [--size N] [--rounds N] [--mode hybrid] [--data FILE.jsonl]: what a batch costs over the bare
 * scan of its rows, in processor time, which a busy machine changes least. Costs a row are slopes between a batch that
 * warms every scorer and one of three times its rows, so that starts and warming up don't count. Every text is another one.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { costsHere } from './batch-here.js';
import { fileCorpus, installedCorpus, mixed } from './corpus.js';

const { values } = parseArgs({
  options: {
    rows: { type: 'string' },
    size: { type: 'string', default: '700' },
    rounds: { type: 'string', default: '1' },
    mode: { type: 'string', default: 'rules' },
    data: { type: 'string' },
  },
});
const hybrid = values.mode === 'hybrid';
const rows = Number(values.rows ?? (hybrid ? 100 : 6_000));
const corpus = values.data === undefined ? installedCorpus() : fileCorpus(values.data);
/** Scanned before anything is measured: a long batch's rules are warm, and 100 rows by the model don't warm them. */
const warming = hybrid ? 2_000 : 0;
const texts = mixed(corpus.pieces(Number(values.size), rows * 5 + warming), rows * 5 + warming);
const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-batch-'));
const input = (name: string, from: number, to: number): string => {
  const file = join(folder, `${name}.jsonl`);
  writeFileSync(
    file,
    texts
      .slice(from, to)
      .map((text) => `${JSON.stringify({ text })}\n`)
      .join(''),
  );
  return file;
};
const short = input('short', 0, rows);
const long = input('long', rows, rows * 4);

interface Cost {
  /** Milliseconds of processor time. */
  readonly parent: number;
  readonly scorers: number;
  readonly wall: number;
}

const ticksOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
};
const childrenOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  );

/** Runs a batch and looks at its processes' time until they end. */
const batch = (file: string, scorers: number): Promise<Cost> =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const args = ['batch', file, '--out', join(folder, 'out.jsonl'), '--workers', String(scorers)];
    const child = spawn(process.execPath, ['dist/cli/main.js', ...args, '--mode', values.mode], { stdio: 'ignore' });
    const ticks = new Map<number, number>();
    const timer = setInterval(() => {
      try {
        for (const pid of [child.pid as number, ...childrenOf(child.pid as number)]) ticks.set(pid, ticksOf(pid));
      } catch {
        // It ended while we looked.
      }
    }, 50);
    child.on('exit', (status) => {
      clearInterval(timer);
      if (status !== 0) reject(new Error(`the batch ended with ${status}`));
      const [parent = 0, ...rest] = [...ticks.values()].map((count) => count * 10);
      resolve({ parent, scorers: rest.reduce((sum, one) => sum + one, 0), wall: performance.now() - started });
    });
  });

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const us = (ms: number): string => (ms * 1_000).toFixed(0);

const here = await costsHere(texts.slice(rows * 4, rows * 5), texts.slice(rows * 5), values.mode);
const rounds: { readonly over: number; readonly speedup: number; readonly busiest: number; readonly wall: number }[] =
  [];
const lines: string[] = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  const slopes: Record<number, Cost> = {};
  for (const scorers of round % 2 === 0 ? [1, 2] : [2, 1]) {
    const [once, thrice] = [await batch(short, scorers), await batch(long, scorers)];
    const slope = (name: keyof Cost): number => (thrice[name] - once[name]) / (rows * 2);
    slopes[scorers] = { parent: slope('parent'), scorers: slope('scorers'), wall: slope('wall') };
  }
  const [one, two] = [slopes[1] as Cost, slopes[2] as Cost];
  const all = two.parent + two.scorers;
  rounds.push({
    over: (one.parent + one.scorers) / one.scorers,
    speedup: (2 * Math.max(one.scorers, one.parent)) / all,
    busiest: one.scorers / Math.max(two.scorers / 2, two.parent),
    wall: one.wall / two.wall,
  });
  lines.push(`| ${[round + 1, ...[one.parent, one.scorers, two.parent, two.scorers].map(us)].join(' | ')} |`);
}
rmSync(folder, { recursive: true });
const of = (name: keyof (typeof rounds)[number]): number => median(rounds.map((round) => round[name]));
const fixed = (ratio: number): string => ratio.toFixed(2);
console.log(`mode ${values.mode}, ${rows * 3} rows of ${values.size} characters from ${corpus.name}; µs of processor time a row

In one process, ${here.rounds} turns each: bare engine ${us(here.bare)}, slices read, scored and written ${us(here.slices)}, ratio ${fixed(here.ratio)}
(lowest ${fixed(here.lowest)}, highest ${fixed(here.highest)})${hybrid ? `; share of the slices' time inside the model ${fixed(here.inModel)}` : ''}.

| round | parent, 1 scorer | 1 scorer | parent, 2 scorers | 2 scorers together |
| - | - | - | - | - |
${lines.join('\n')}

A batch to the bare engine: ${fixed(here.ratio * of('over'))}. Two scorers to one on two cores with nothing else to do, by processor time:
${fixed(of('speedup'))}; the busiest process of one scorer to that of two: ${fixed(of('busiest'))}; by the clock, as busy as this machine was: ${fixed(of('wall'))}.`);
