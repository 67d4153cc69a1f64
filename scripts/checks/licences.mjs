// Checks that every dependency states a licence, and one that we take: what is installed with the package or is in the image may ask
// for no more than to be named; tools that we only run may also be under weak copyleft. --list prints them all.
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
const shipped = rows.filter(({ isShipped }) => isShipped);
const faults = rows.filter(({ license, isShipped }) => !isMet(license, isShipped ? SHIPPED : TOOLS));
if (process.argv.includes('--list'))
  for (const { name, license, isShipped } of rows)
    console.log(`${isShipped ? 'shipped' : 'tool   '}  ${license.padEnd(14)}  ${name}`);
for (const { name, license, isShipped } of faults)
  console.error(`${name}: ${license} is not among the licences of ${isShipped ? 'what we ship' : 'our tools'}`);
console.log(
  `licences: ${rows.length} packages, ${shipped.length} of them shipped or in the image, ${faults.length} problems`,
);
// Fewer would mean that the lists were not read.
process.exitCode = faults.length > 0 || shipped.length < 60 || image.length < 30 ? 1 : 0;
