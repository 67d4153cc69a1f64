// Checks the import layers of .dependency-cruiser.cjs, that no folder of src has more than 20 entries, and that the check saw every
// module: a lint that read nothing is green too.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import configuration from '../../.dependency-cruiser.cjs';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join('src', name).replaceAll('\\', '/'));

const MOST_ENTRIES = 20;
const folders = readdirSync('src', { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
const full = ['src', ...folders.map(({ parentPath, name }) => join(parentPath, name))]
  .map((folder) => ({ folder, entries: readdirSync(folder).length }))
  .filter(({ entries }) => entries > MOST_ENTRIES);

const { forbidden, options } = configuration;
const { output } = await cruise(['src'], { ...options, ruleSet: { forbidden }, validate: true }, undefined, {
  tsConfig: extractTSConfig('tsconfig.json'),
});
const seen = new Set(output.modules.map((module) => module.source));
const unseen = sources.filter((source) => !seen.has(source));
const edges = output.modules
  .filter((module) => seen.has(module.source) && module.source.startsWith('src/'))
  .reduce((sum, module) => sum + module.dependencies.length, 0);

for (const { rule, from, to } of output.summary.violations) console.error(`${rule.name}: ${from} -> ${to}`);
for (const source of unseen) console.error(`not seen by the layer check: ${source}`);
for (const { folder, entries } of full)
  console.error(`${folder} has ${entries} entries: move some to a folder inside it (at most ${MOST_ENTRIES})`);
if (edges < sources.length / 2)
  console.error(`only ${edges} imports found in ${sources.length} modules: the parser is broken`);
const good =
  output.summary.violations.length === 0 && unseen.length === 0 && full.length === 0 && edges >= sources.length / 2;
console.log(`layers: ${sources.length} modules, ${edges} imports, ${output.summary.violations.length} violations`);
process.exitCode = good ? 0 : 1;
