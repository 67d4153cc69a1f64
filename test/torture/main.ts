import { parseArgs } from 'node:util';
import { defaultEngine } from '../../src/index.js';
import { answerFaults } from './answer-faults.js';
import { bigTexts, hugeText } from './big-texts.js';
import { exampleTexts } from './example-texts.js';
import { randomFrom, strangeTexts } from './strange-texts.js';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    small: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
const engine = await defaultEngine();
const failures: string[] = [];
const started = performance.now();
console.log(`${count} random and mutated texts, seed ${seed} (repeat it with --seed ${seed}) ...`);

let done = 0;
let slowest = 0;
for (const text of strangeTexts(exampleTexts(), count, randomFrom(seed))) {
  const before = performance.now();
  try {
    failures.push(...answerFaults(engine, text).map((fault) => `text ${done}: ${fault}: ${JSON.stringify(text)}`));
  } catch (error) {
    failures.push(`text ${done} threw ${String(error)}: ${JSON.stringify(text)}`);
  }
  slowest = Math.max(slowest, performance.now() - before);
  done += 1;
  if (done % 10_000 === 0) console.log(`${done}, ${failures.length} failures, slowest ${slowest.toFixed(1)} ms`);
}

for (const { name, make, mostSeconds } of values.small ? [] : [...bigTexts(5), hugeText]) {
  const text = make();
  const before = performance.now();
  const faults = answerFaults(engine, text);
  const seconds = (performance.now() - before) / 1000;
  failures.push(...faults.map((fault) => `${name}: ${fault}`));
  if (seconds > mostSeconds) failures.push(`${name}: ${seconds.toFixed(1)} s, at most ${mostSeconds} s`);
  console.log(`${name} (${(text.length / 1e6).toFixed(0)} million characters): ${seconds.toFixed(2)} s`);
}
await engine.close();

for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(`${done} texts in ${((performance.now() - started) / 1000).toFixed(0)} s, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
