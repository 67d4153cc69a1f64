// Checks that every dependency states a licence, and one that we take: what is installed with the package or is in the image may ask
// for no more than to be named; tools that we only run may also be under weak copyleft. --list prints them all.
// Checks as well that the model's card, to which docs/security.md links, states the licence of every source of training texts.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const SHIPPED = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD'];
const TOOLS = [...SHIPPED, 'MPL-2.0', 'LGPL-3.0-or-later', 'CC0-1.0', 'PSF-2.0'];

/** Whether an SPDX expression can be met with these licences. Expressions in brackets have one operator. */
const isMet = (expression, taken) =>
  expression.includes(' OR ')
    ? expression
        .replace(/^\(|\)$/g, '')
        .split(' OR ')
        .some((one) => isMet(one, taken))
    : expression.split(' AND ').every((one) => taken.includes(one));

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const image = spawnSync(process.execPath, ['scripts/image-modules.mjs', '.', '--list'], {
  encoding: 'utf8',
}).stdout.split('\n');
const rows = Object.entries(packages)
  .filter(([place]) => place !== '')
  .map(([place, { version, license = 'none', dev, devOptional, peer }]) => ({
    name: `${place.replace(/^.*node_modules\//, '')}@${version}`,
    license,
    isShipped: !(dev || devOptional || peer) || image.includes(place),
  }));
/** Licences whose texts are not trained on, by models/training/mixture.json. */
const LEFT_OUT = /\bNC\b|non-?commercial|GPL|commons clause|sustainable use|unstated|^$/i;
// The card says which texts of these were trained all the same.
const EXCEPTIONS = ['agent_files_wild', 'mcp_real_tools'];
const CARD = 'models/portcullis-minilm-1/README.md';
const card = readFileSync(CARD, 'utf8');
const table = /^## Training data$.*?<!-- sources -->\n(.*?)<!-- end sources -->/ms.exec(card)?.[1] ?? '';
const sources = [...table.matchAll(/^\| (?!Source|-)(.+?) \| (.*?) \|/gm)].map(([, name, licence]) => ({
  name,
  licence,
}));
const untrainable = sources.filter(({ name, licence }) => LEFT_OUT.test(licence.trim()) && !EXCEPTIONS.includes(name));
const isLinked = readFileSync('docs/security.md', 'utf8').includes(`](../${CARD}#training-data)`);

const shipped = rows.filter(({ isShipped }) => isShipped);
const faults = rows.filter(({ license, isShipped }) => !isMet(license, isShipped ? SHIPPED : TOOLS));
if (process.argv.includes('--list'))
  for (const { name, license, isShipped } of rows)
    console.log(`${isShipped ? 'shipped' : 'tool   '}  ${license.padEnd(14)}  ${name}`);
for (const { name, license, isShipped } of faults)
  console.error(`${name}: ${license} is not among the licences of ${isShipped ? 'what we ship' : 'our tools'}`);
for (const { name, licence } of untrainable) console.error(`${CARD}: ${name} is trained under "${licence}"`);
if (!isLinked) console.error(`docs/security.md doesn't link to the training data of ${CARD}`);
const problems = faults.length + untrainable.length + (isLinked ? 0 : 1);
console.log(
  `licences: ${rows.length} packages, ${shipped.length} of them shipped or in the image, ${sources.length} sources of training texts, ${problems} problems`,
);
// Fewer would mean that the lists were not read.
const isRead = shipped.length >= 60 && image.length >= 30 && sources.length >= 200;
process.exitCode = problems > 0 || !isRead ? 1 : 0;
