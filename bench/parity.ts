import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Channel, findModel, loadModel } from '../src/index.js';

// Whether this runtime says of each text, with its channel and task, what the training pipeline says (`python -m portcullis_train.evaluation.probabilities`).
// npm run bench -- parity --data WORK/probabilities.jsonl [--model FOLDER] [--every 1]

const { values } = parseArgs({
  options: { data: { type: 'string' }, model: { type: 'string' }, every: { type: 'string', default: '1' } },
});
const folder = values.model ?? findModel();
if (values.data === undefined || folder === undefined) throw new Error('Name the texts by --data and a model');

interface Row {
  readonly text: string;
  /** Null: unknown. */
  readonly channel: Channel | null;
  /** Empty: none. */
  readonly task: string;
  readonly probability: number;
}

const rows = readFileSync(values.data, 'utf8')
  .split('\n')
  .filter(Boolean)
  .filter((_, index) => index % Number(values.every) === 0)
  .map((line) => JSON.parse(line) as Row);
const processes = availableParallelism();
const classifier = await loadModel(folder, { processes });
const options = { timeoutMs: 600_000, maxWindows: 100_000, signal: { aborted: false } };
let next = 0;
let equal = 0;
let greatest = 0;
const work = async (): Promise<void> => {
  while (next < rows.length) {
    const { text, channel, task, probability } = rows[next++] as Row;
    const given = { ...options, channel: channel ?? undefined, task: task || undefined };
    const difference = Math.abs((await classifier.classify([text], given)).probability - probability);
    greatest = Math.max(greatest, difference);
    if (difference < 1e-9) equal += 1;
  }
};
await Promise.all(Array.from({ length: processes }, work));
await classifier.close();
const withChannel = rows.filter(({ channel }) => channel !== null).length;
const withTask = rows.filter(({ task }) => task !== '').length;
console.log(
  `${rows.length} texts (${withChannel} with a channel, ${withTask} with a task), ${equal} equal to 1e-9, greatest difference ${greatest}`,
);
if (greatest > 0.001) process.exitCode = 1;
