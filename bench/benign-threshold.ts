import { mkdirSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { SCORE_CEILING } from '../src/engine/rules/scan/clusters.js';
import { samplesNeeded } from '../src/evaluation/metrics/binomial.js';
import { seededRandom } from '../src/evaluation/metrics/bootstrap.js';
import type { Side } from '../src/evaluation/report/sides.js';
import { readLabelled } from '../src/evaluation/rows/labelled-text.js';
import { chooseRows } from '../src/evaluation/rows/split-rows.js';
import { createEngine, findModel, loadModel } from '../src/index.js';
import { benignThreshold } from '../src/tuning/tune-threshold.js';

// Does `tune --benign-only` keep its word on real texts? A threshold from 2,000 honest texts of one kind, 100 times
// drawn anew, each held against the others of that kind.
// npm run bench -- benign-threshold --data FILE.jsonl --source "P3/T0 tasks" [--source ...] [--side both] [--record NAME]

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    source: { type: 'string', multiple: true },
    side: { type: 'string', default: 'rules' },
    texts: { type: 'string', default: '2000' },
    most: { type: 'string' },
    record: { type: 'string' },
  },
});
const { data, source: sources } = values;
if (data === undefined || sources === undefined) throw new Error('Give --data FILE.jsonl and --source NAME');
const side = values.side as Side;
const drawn = Number(values.texts);
const RESAMPLINGS = 100;
const guarantee = { budget: 0.01, confidence: 0.99 };

interface KindResult {
  readonly source: string;
  readonly texts: number;
  /** Resamplings whose rate on the other texts was within the budget. */
  readonly kept: number;
  readonly worstRate: number;
  readonly meanRate: number;
  readonly thresholds: readonly [least: number, most: number];
}

const shuffled = (items: readonly number[], random: () => number): readonly number[] => {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j] as number, mixed[i] as number];
  }
  return mixed;
};

const judge = (source: string, scores: readonly number[]): KindResult => {
  const random = seededRandom(1);
  const rates: number[] = [];
  const thresholds: number[] = [];
  for (let round = 0; round < RESAMPLINGS; round++) {
    const mixed = shuffled(scores, random);
    const others = mixed.slice(drawn);
    const { threshold } = benignThreshold(mixed.slice(0, drawn), guarantee, side === 'rules' ? SCORE_CEILING : 1);
    thresholds.push(threshold);
    rates.push(others.filter((score) => score >= threshold).length / others.length);
  }
  return {
    source,
    texts: scores.length,
    kept: rates.filter((rate) => rate <= guarantee.budget).length,
    worstRate: Math.max(...rates),
    meanRate: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
    thresholds: [Math.min(...thresholds), Math.max(...thresholds)],
  };
};

const { texts } = await readLabelled([data]);
const results: KindResult[] = [];
const folder = side === 'rules' ? undefined : findModel();
if (side !== 'rules' && folder === undefined) throw new Error('No model is installed');
const model = folder === undefined ? false : await loadModel(folder, { processes: 2 });
const engine = createEngine({ model, mode: model ? 'shadow' : 'rules', timeoutMs: 120_000 });
const versions = `rules ${engine.info.rules_version}, model ${engine.info.ml_version}`;
for (const source of sources) {
  const kind = texts.filter((text) => text.source === source && text.label === 'benign');
  const rows = chooseRows(kind, { limit: values.most === undefined ? undefined : Number(values.most) });
  if (rows.length < 1.5 * drawn) throw new Error(`${source} has ${rows.length} honest texts: too few to draw from`);
  const scores: number[] = [];
  for (const { text } of rows) {
    const { rules, model } = (await engine.analyze(text, { explain: true })).explanation;
    if (side === 'rules') scores.push(rules.score);
    else if (model.score === null) throw new Error('the model gave no answer');
    else if (side === 'model') scores.push(model.score);
    else scores.push(rules.score >= rules.threshold && !model.cleared ? 1 : (model.combined ?? model.score));
  }
  results.push(judge(source, scores));
  console.log(JSON.stringify(results.at(-1)));
}

await engine.close();

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
const rows = results.map(
  ({ source, texts: n, kept, meanRate, worstRate, thresholds }) =>
    `| ${source} | ${n} | ${kept} of ${RESAMPLINGS} | ${percent(meanRate)} | ${percent(worstRate)} | ${thresholds.join(' to ')} |`,
);
const date = new Date().toISOString().slice(0, 10);
const page = `# Thresholds from benign texts alone, ${date}

${versions}, side \`${side}\`; ${basename(data)}. ${RESAMPLINGS} times ${drawn} honest texts of one kind are drawn, a threshold is chosen
from them (budget ${percent(guarantee.budget)}, ${percent(guarantee.confidence)} sure), and the false-positive rate on the other texts of the kind is measured.
It takes ${samplesNeeded(0, guarantee.budget, guarantee.confidence)} texts at least.

| kind | texts | within the budget | mean rate on the others | worst | thresholds |
| - | - | - | - | - | - |
${rows.join('\n')}
`;
console.log(page);
if (values.record !== undefined) {
  mkdirSync('bench/record', { recursive: true });
  writeFileSync(`bench/record/${values.record}.md`, page);
}
if (results.some(({ kept }) => kept < 95)) process.exitCode = 1;
