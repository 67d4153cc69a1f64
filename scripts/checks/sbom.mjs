// Checks the bill of materials that the build wrote: the schema of CycloneDX, and that it has every package that is installed with ours or
// whose code is in dist, and the model.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cyclonedx } from './linters.mjs';

const read = (...path) => readFileSync(join(...path), 'utf8');
if (!existsSync(join('dist', 'sbom.cdx.json'))) throw new Error('there is no bill of materials: npm run build');
const text = read('dist', 'sbom.cdx.json');
const problems = await cyclonedx(text);

const { components } = JSON.parse(text);
const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
const installed = Object.entries(JSON.parse(read('package-lock.json')).packages)
  .filter(([place, { dev, devOptional, peer }]) => place !== '' && !dev && !devOptional && !peer)
  .map(([place, { version }]) => `${place.replace(/^.*node_modules\//, '')}@${version}`);
const builtIn = [...read('dist', 'third-party-notices.txt').matchAll(/^(\S+) (\d\S*) \(.+\)$/gm)].map(
  ([, name, version]) => `${name}@${version}`,
);
const { id, version } = JSON.parse(read('models', 'portcullis-minilm-1', 'manifest.json'));
const due = [...installed, ...builtIn, `${id}@${version}`];
problems.push(...due.filter((one) => !listed.has(one)).map((one) => `${one} is missing`));
for (const { name, licenses = [], hashes = [] } of components)
  if (licenses.length === 0 || hashes.length === 0) problems.push(`${name} has no licence or no digest`);

for (const problem of problems) console.error(`sbom: ${problem}`);
console.log(
  `sbom: ${components.length} components, ${installed.length} installed, ${builtIn.length} built in, ${problems.length} problems`,
);
// Fewer would mean that the lists were not read.
process.exitCode = problems.length > 0 || installed.length < 12 || builtIn.length < 3 ? 1 : 0;
