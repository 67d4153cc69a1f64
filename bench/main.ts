import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { loadPack } from '../src/adapters/packs/load-pack.js';
import { compilePack } from '../src/engine/rules/compile-pack.js';
import type { WordLists } from '../src/engine/rules/types.js';
import { createEngine } from '../src/index.js';
import { checkAnswers } from './answers.js';
import { fileCorpus, installedCorpus } from './corpus.js';
import { timeFreshProcesses } from './fresh-process.js';
import { generators } from './hostile/generators.js';
import { nearMisses, triggerSoups } from './hostile/near-misses.js';
import { patternSamples } from './hostile/pattern-samples.js';
import { timeHostile } from './hostile/time-hostile.js';
import { type BenchRecord, recordPage } from './record.js';
import { growth, timeSizes } from './sizes.js';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    data: { type: 'string' },
    record: { type: 'string' },
  },
});
const { quick } = values;
const say = (line: string): void => console.error(`bench: ${line}`);

const loadBefore = loadavg()[0] ?? 0;
const { pack } = loadPack({ packs: ['rules/core'], today: new Date().toISOString().slice(0, 10) });
const compiled = compilePack(pack);
const { rules } = compiled;
const words: WordLists = Object.assign({}, ...pack.layers.map((layer) => layer.words));
const engine = createEngine({ pack: compiled, model: false });
await engine.warmUp();
const corpus = values.data === undefined ? installedCorpus() : fileCorpus(values.data);
say(`${rules.length} rules, ${compiled.size.patterns} patterns; ${corpus.length} characters of ${corpus.name}`);

const answersChecked = await checkAnswers(engine);
say(`${answersChecked} answers are right; timing by size ...`);
const sizes = await timeSizes(engine, corpus, quick);
const soups = [...generators, ...triggerSoups(words, rules), ...patternSamples(words, rules)];
const hostileTexts = quick ? soups : [...soups, ...nearMisses(rules)];
say(`${hostileTexts.length} hostile texts ...`);
const hostile = timeHostile(engine, corpus, hostileTexts, 100_000, quick ? 1 : 3);
await engine.close();
say('fresh processes ...');
const fresh = timeFreshProcesses(quick ? 3 : 20);

const now = new Date();
const record: BenchRecord = {
  date: now.toISOString().slice(0, 10),
  commit: execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim(),
  node: process.versions.node,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  loadBefore,
  rulesVersion: compiled.rulesVersion,
  rules: rules.length,
  patterns: compiled.size.patterns,
  corpus: corpus.name,
  answersChecked,
  sizes,
  growth: growth(sizes),
  hostile,
  fresh,
};
console.log(recordPage(record));
if (!quick || values.record !== undefined) {
  const name = values.record ?? `speed-${record.date}`;
  mkdirSync('bench/record', { recursive: true });
  writeFileSync(`bench/record/${name}.md`, recordPage(record));
  say(`written to bench/record/${name}.md`);
}
