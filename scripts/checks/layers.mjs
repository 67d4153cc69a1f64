// Checks the import layers of .dependency-cruiser.cjs, and that the check saw every module:
// a lint that read nothing is green too.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import configuration from '../../.dependency-cruiser.cjs';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join('src', name).replaceAll('\\', '/'));

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
if (edges < sources.length / 2)
  console.error(`only ${edges} imports found in ${sources.length} modules: the parser is broken`);
const good = output.summary.violations.length === 0 && unseen.length === 0 && edges >= sources.length / 2;
console.log(`layers: ${sources.length} modules, ${edges} imports, ${output.summary.violations.length} violations`);
process.exitCode = good ? 0 : 1;
