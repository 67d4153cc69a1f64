/**
 * npm run bench -- batch [--rows N] [--size N] [--mode hybrid] [--data FILE.jsonl]: what a batch costs over the bare scan of
 * its rows, in processor time, which a busy machine changes least. Costs a row are slopes between a short batch and one of
 * three times its rows, so that starts don't count. Every text is another one.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createEngine, findModel, loadModel } from '../src/index.js';
import { fileCorpus, installedCorpus } from './corpus.js';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1500' },
    size: { type: 'string', default: '700' },
    rounds: { type: 'string', default: '2' },
    mode: { type: 'string', default: 'rules' },
    data: { type: 'string' },
  },
});
const rows = Number(values.rows);
const hybrid = values.mode === 'hybrid';
const corpus = values.data === undefined ? installedCorpus() : fileCorpus(values.data);
const texts = corpus.pieces(Number(values.size), rows * 4);
if (texts.length < rows * 4) throw new Error(`the corpus has only ${texts.length} pieces: fewer --rows`);
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
    const args = ['batch', file, '--out', join(folder, 'out.jsonl'), '--scorers', String(scorers)];
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

const cpuMs = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
const model = hybrid ? await loadModel(findModel() as string, { isolation: 'inline' }) : (false as const);
let inModel = 0;
const engine = createEngine({
  mode: hybrid ? 'hybrid' : 'rules',
  timeoutMs: 600_000,
  model: model && {
    ...model,
    async classify(...asked) {
      const before = cpuMs();
      try {
        return await model.classify(...asked);
      } finally {
        inModel += cpuMs() - before;
      }
    },
  },
});
await engine.warmUp();

const results: string[] = [];
const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
const ratios: { over: number; speedup: number; wall: number; model: number }[] = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  inModel = 0;
  const before = cpuMs();
  for (const text of texts.slice(rows)) await engine.analyze(text);
  const bare = (cpuMs() - before) / (rows * 3);
  const modelShare = inModel / (rows * 3);
  const slopes: Record<number, Cost> = {};
  for (const scorers of round % 2 === 0 ? [1, 2] : [2, 1]) {
    const [one, three] = [await batch(short, scorers), await batch(long, scorers)];
    const slope = (name: keyof Cost): number => (three[name] - one[name]) / (rows * 2);
    slopes[scorers] = { parent: slope('parent'), scorers: slope('scorers'), wall: slope('wall') };
  }
  const [one, two] = [slopes[1] as Cost, slopes[2] as Cost];
  const tree = two.parent + two.scorers;
  const figures = [bare, one.parent, one.scorers, two.parent, two.scorers].map((ms) => (ms * 1_000).toFixed(0));
  ratios.push({
    over: tree / bare,
    speedup: (2 * Math.max(one.scorers, one.parent)) / tree,
    wall: one.wall / two.wall,
    model: modelShare / tree,
  });
  results.push(`| ${[round + 1, ...figures].join(' | ')} |`);
}
await engine.close();
rmSync(folder, { recursive: true });
const of = (name: keyof (typeof ratios)[number]): string =>
  median(ratios.map((ratio) => ratio[name]).sort((a, b) => a - b)).toFixed(2);
console.log(`mode ${values.mode}, ${rows * 3} rows of ${values.size} characters from ${corpus.name}; µs of processor time a row

| round | bare engine | parent, 1 scorer | 1 scorer | parent, 2 scorers | 2 scorers together |
| - | - | - | - | - | - |
${results.join('\n')}

Medians: all processes of a batch with two scorers to the bare engine ${of('over')}; two scorers to one on two cores with nothing
else to do, by processor time, ${of('speedup')}; by the clock, as busy as this machine was, ${of('wall')}${hybrid ? `; share inside the model ${of('model')}` : ''}.`);
