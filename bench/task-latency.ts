/**
 * What channel and task cost: one window of 128 tokens, alone, with both, and once more, by turns on the same texts.
 * npm run bench -- task [--base FOLDER] [--model FOLDER] [--rounds 60] [--isolation thread]
 * `--base`: an older model, which reads the text alone and is what the ratios are to; otherwise they are to the text alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readModelFolder } from '../src/adapters/model/model-folder.js';
import { readTokenizer } from '../src/adapters/model/model-texts.js';
import { TASK_LENGTH } from '../src/engine/input.js';
import type { Classifier, ClassifyOptions } from '../src/engine/ports.js';
import { findModel, loadModel } from '../src/index.js';
import { installedCorpus } from './corpus.js';
import { quantile } from './measure.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    base: { type: 'string' },
    rounds: { type: 'string', default: '60' },
    isolation: { type: 'string', default: 'process' },
  },
});
const folder = values.model ?? findModel();
if (folder === undefined) throw new Error('there is no model: name its folder with --model');
const { isolation } = values;
if (isolation !== 'process' && isolation !== 'thread') throw new Error('--isolation process or thread');

const { manifest } = await readModelFolder(folder);
const tokenizer = readTokenizer(readFileSync(join(folder, 'tokenizer.json'), 'utf8'), manifest);
const now = await loadModel(folder, { isolation });
const base = values.base === undefined ? undefined : await loadModel(values.base, { isolation });
await now.warmUp();
await base?.warmUp();

/** The start of a text, at most so many tokens of it, cut between words. */
function firstTokens(text: string, most: number): string {
  const { starts, ends } = tokenizer.tokenize(text);
  let end = Math.min(most, ends.length);
  while (end > 0 && end < ends.length && starts[end] === ends[end - 1]) end -= 1;
  return text.slice(0, ends[end - 1] ?? 0);
}

const rounds = Number(values.rounds);
// With `[CLS]` and `[SEP]` 128.
const texts = installedCorpus()
  .pieces(1_200, 2 * rounds)
  .map((text) => firstTokens(text, 126));
// The network reads its end.
const long = installedCorpus().pieces(TASK_LENGTH, rounds);

interface Way {
  readonly name: string;
  readonly model: Classifier;
  options(round: number): Pick<ClassifyOptions, 'channel' | 'task'>;
  /** Called once before, untimed. */
  readonly before?: boolean;
}
const withTask = (round: number) => ({
  channel: 'tool_result' as const,
  task: firstTokens(texts[rounds + (round % rounds)] as string, 40),
});
const ways: readonly Way[] = [
  ...(base === undefined ? [] : [{ name: `${base.info.version}, the text alone`, model: base, options: () => ({}) }]),
  { name: 'the text alone', model: now, options: () => ({}) },
  { name: 'with channel', model: now, options: () => ({ channel: 'tool_result' }) },
  { name: 'with channel and a task of 40 tokens', model: now, options: withTask },
  {
    name: `with channel and a task of ${TASK_LENGTH} characters`,
    model: now,
    options: (round) => ({ channel: 'tool_result', task: long[round] as string }),
  },
  {
    name: 'the same window with the same task again',
    model: now,
    options: (round) => withTask(round + 1),
    before: true,
  },
];

const times = ways.map((): number[] => []);
for (let round = 0; round < rounds; round += 1) {
  const text = texts[round] as string;
  for (let turn = 0; turn < ways.length; turn += 1) {
    const at = (round + turn) % ways.length;
    const way = ways[at] as Way;
    const call = () =>
      way.model.classify([text], {
        ...way.options(round),
        timeoutMs: 600_000,
        maxWindows: 8,
        signal: { aborted: false },
      });
    // With a task of its own, or the way above would find it remembered.
    const first = way.before === true ? await call() : undefined;
    const start = performance.now();
    const { probability, windows } = await call();
    times[at]?.push(performance.now() - start);
    if (windows.length !== 1) throw new Error(`${windows.length} windows instead of one`);
    if (first !== undefined && first.probability !== probability)
      throw new Error('the same window is judged otherwise');
  }
}

const p = (samples: readonly number[], share: number): number =>
  quantile(
    [...samples].sort((a, b) => a - b),
    share,
  );
console.log('| way | n | p50 | p95 | ratio p50 |\n| - | -: | -: | -: | -: |');
for (const [at, { name }] of ways.entries()) {
  const own = times[at] as readonly number[];
  const ratios = own.map((time, round) => time / (times[0]?.[round] as number));
  console.log(
    `| ${name} | ${own.length} | ${p(own, 0.5).toFixed(2)} ms | ${p(own, 0.95).toFixed(2)} ms | ${p(ratios, 0.5).toPrecision(3)} |`,
  );
}
await now.close();
await base?.close();
