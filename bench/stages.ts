// `npm run bench -- stages [--base DIST] [--record NAME]`: CPU time of a scan by stage and by length, and of another build of the
// library on the same texts by turns. CPU time, so that other programs on the machine disturb it less than a clock's time.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadPack } from '../src/adapters/packs/load-pack.js';
import { compilePack } from '../src/engine/rules/compile-pack.js';
import { compileSource } from '../src/engine/rules/matcher/pattern.js';
import { ProgramWriter } from '../src/engine/rules/matcher/programs.js';
import { createWordLookup } from '../src/engine/rules/pack/word-lists.js';
import type { PreparedGroup, RulePatterns } from '../src/engine/rules/pattern/compiled-pattern.js';
import { preparePatterns } from '../src/engine/rules/pattern/prepare-patterns.js';
import { buildViews } from '../src/engine/text/views.js';
import { createEngine } from '../src/index.js';
import { installedCorpus } from './corpus.js';
import { growthExponent, quantile } from './measure.js';

const { values } = parseArgs({ options: { base: { type: 'string' }, record: { type: 'string' } } });
const { pack } = loadPack({ packs: ['rules/core'], today: new Date().toISOString().slice(0, 10) });
const engine = createEngine({ pack: compilePack({ ...pack, isChecked: true }), model: false });
// Nothing matches: what is left are the views and the prefilter.
const programs = new ProgramWriter();
const nothing = compileSource('[^\\s\\S]', programs);
const noProgram = (list: RulePatterns['except']) =>
  list.map((pattern) => pattern && { ...pattern, program: () => nothing });
const emptied = ({ patterns, ...indices }: PreparedGroup): PreparedGroup => ({
  patterns: new Map(
    [...patterns].map(([id, { steps, except }]) => [id, { steps: steps.map(noProgram), except: noProgram(except) }]),
  ),
  ...indices,
});
const unmatched = compilePack({
  ...pack,
  isChecked: true,
  layers: pack.layers.map((layer) => {
    const words = createWordLookup(layer.words, () => {});
    const { raw, folded } = preparePatterns(layer.rules, words, () => {});
    return { ...layer, prepared: { raw: emptied(raw), folded: emptied(folded), programs } };
  }),
});
type Scan = (text: string) => unknown;
const scans: Record<string, Scan> = {
  scan: (text) => engine.scan(text),
  views: (text) => buildViews(text),
  'views and prefilter': (text) => unmatched.scan(buildViews(text).views, {}),
};
await engine.warmUp();
if (values.base !== undefined) {
  const other = (await import(pathToFileURL(join(resolve(values.base), 'index.js')).href)) as {
    createEngine: typeof createEngine;
  };
  const base = other.createEngine({ model: false });
  await base.warmUp();
  scans['base'] = (text) => base.scan(text);
}

const corpus = installedCorpus();
const cpuOf = (run: () => unknown): number => {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
const names = Object.keys(scans);
const medians = new Map<string, { readonly size: number; readonly time: number }[]>();
const rows: string[] = [];
for (const [size, most] of [
  [1_000, 1_600],
  [10_000, 160],
  [100_000, 24],
  [1_000_000, 4],
] as const) {
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (const [index, text] of corpus.pieces(size, most).entries()) {
    for (const name of index % 2 === 0 ? names : [...names].reverse()) {
      times.get(name)?.push(cpuOf(() => scans[name]?.(text)));
    }
  }
  for (const name of names) {
    const sorted = (times.get(name) ?? []).sort((a, b) => a - b);
    const mean = sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
    const at = (share: number): string => `${quantile(sorted, share).toFixed(2)}`;
    rows.push(
      `| ${size.toLocaleString('en')} | ${sorted.length} | ${name} | ${mean.toFixed(2)} | ${at(0.5)} | ${at(0.99)} |`,
    );
    medians.set(name, [...(medians.get(name) ?? []), { size, time: quantile(sorted, 0.5) }]);
  }
}
const page = `# CPU time of a scan by stage and length

Made by \`npm run bench -- stages${values.base === undefined ? '' : ' --base DIST'}\`, Node ${process.versions.node}, after \`warmUp()\`; milliseconds of CPU time (garbage collection and compilation by V8
included), every text another one, ${corpus.name}.${values.base === undefined ? '' : ' `base`: another build on the same texts by turns.'} \`scan\` less \`views and
prefilter\` is the matcher and the weighing of what it finds.

| characters | n | what | mean | p50 | p99 |
| -: | -: | - | -: | -: | -: |
${rows.join('\n')}

Growth of the median from 1,000 to 1,000,000: ${names.map((name) => `${name} ${growthExponent(medians.get(name) ?? []).toFixed(2)}`).join(', ')}.
Resident memory at the end: ${Math.round(process.memoryUsage.rss() / 1048576)} MiB.
`;
console.log(page);
if (values.record !== undefined) writeFileSync(`bench/record/${values.record}.md`, page);
await engine.close();
