/**
 * What the model's way costs over a bare `session.run` on the same tokens: tokenising, windows, the child
 * process and calibration. Answer first, then time; both sides alternate, so that a busy machine hits both.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readModelFolder } from '../src/adapters/model/model-folder.js';
import { readTokenizer } from '../src/adapters/model/model-texts.js';
import { openNetwork } from '../src/adapters/model/onnx-network.js';
import { calibrate, tokenConfidence } from '../src/engine/model/calibration.js';
import { planWindows } from '../src/engine/model/windows.js';
import type { WindowScore } from '../src/engine/ports.js';
import { findModel, loadModel } from '../src/index.js';
import { installedCorpus } from './corpus.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    child: { type: 'string' },
    rounds: { type: 'string', default: '40' },
    isolation: { type: 'string', default: 'process' },
    // Texts up to this many characters.
    most: { type: 'string', default: '50000' },
  },
});
const folder = values.model ?? findModel();
if (folder === undefined) throw new Error('there is no model: name its folder with --model');

const { manifest } = await readModelFolder(folder);
const tokenizer = readTokenizer(readFileSync(join(folder, 'tokenizer.json'), 'utf8'), manifest);
const bare = await openNetwork({
  file: join(folder, 'model.onnx'),
  sha256: manifest.files['model.onnx']?.sha256 ?? '',
  inputs: manifest.inputs,
  outputs: manifest.outputs,
  golden: [],
});
if (values.isolation !== 'process' && values.isolation !== 'thread') throw new Error('--isolation process or thread');
const classifier = await loadModel(folder, { isolation: values.isolation, childFile: values.child });
await classifier.warmUp();

const { cls, sep } = manifest.tokenizer;
const windowsOf = (text: string): readonly (readonly number[])[] => {
  const { ids } = tokenizer.tokenize(text);
  const plan = planWindows(ids.length, manifest.window.content, manifest.window.stride);
  return plan.map(({ start, end }) => [cls, ...ids.slice(start, end), sep]);
};
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
const time = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
const classify = (text: string) =>
  classifier.classify([text], { timeoutMs: 600_000, maxWindows: 100_000, signal: { aborted: false } });

console.log(
  '| characters | windows | tokens | n | bare p50 | ours p50 | ours p95 | ratio p50 |\n| -: | -: | -: | -: | -: | -: | -: | -: |',
);
const corpus = installedCorpus();
for (const size of [60, 120, 250, 500, 1_000, 10_000, 50_000].filter((size) => size <= Number(values.most))) {
  const rounds = Math.max(3, Math.round(Number(values.rounds) / Math.ceil(size / 1_000)));
  const times: { bare: number; ours: number; windows: number; tokens: number }[] = [];
  for (const [round, text] of corpus.pieces(size, rounds).entries()) {
    const windows = [...new Map(windowsOf(text).map((ids) => [ids.join(), ids])).values()];
    const scores: WindowScore[] = [];
    const runBare = () =>
      time(async () => {
        for (const ids of windows) scores.push(await bare.run({ ids }));
      });
    let probability = Number.NaN;
    const runOurs = () =>
      time(async () => {
        probability = (await classify(text)).probability;
      });
    const first = round % 2 === 0 ? await runBare() : await runOurs();
    const second = round % 2 === 0 ? await runOurs() : await runBare();
    const expected = Math.max(
      ...scores.map(({ logit, tokenLogits }) => {
        const place = {
          windows: windowsOf(text).length,
          derived: false,
          tokenConfidence: tokenConfidence(tokenLogits),
        };
        return calibrate(logit, place, manifest.calibration);
      }),
    );
    if (Math.abs(expected - probability) > 1e-9) throw new Error(`the answer differs: ${probability} for ${expected}`);
    const [own, other] = round % 2 === 0 ? [second, first] : [first, second];
    times.push({
      bare: other,
      ours: own,
      windows: windows.length,
      tokens: windows.reduce((sum, ids) => sum + ids.length, 0),
    });
  }
  const sorted = (pick: (one: (typeof times)[number]) => number): readonly number[] =>
    times.map(pick).sort((a, b) => a - b);
  const ratio = quantile(
    sorted(({ bare: base, ours }) => ours / base),
    0.5,
  );
  const cells = [
    size,
    quantile(
      sorted(({ windows }) => windows),
      0.5,
    ),
    quantile(
      sorted(({ tokens }) => tokens),
      0.5,
    ),
    times.length,
    ...[sorted((one) => one.bare), sorted((one) => one.ours)].map((all) => `${quantile(all, 0.5).toFixed(1)} ms`),
    `${quantile(
      sorted((one) => one.ours),
      0.95,
    ).toFixed(1)} ms`,
    ratio.toFixed(2),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
await bare.close();
await classifier.close();
