// Leaves in FOLDER/node_modules what the running service needs, in the versions of the lock file, for this platform alone:
// node scripts/image-modules.mjs FOLDER [--list]. The Dockerfile runs it on a copy; --list only says what would stay.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [folder, flag] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: node scripts/image-modules.mjs FOLDER [--list]\n');
  process.exit(2);
}
/** Half a gigabyte that only users of other people's models need, and what native modules are installed with. */
const leftOut = new Set([
  '@huggingface/transformers',
  ...['prebuild-install', 'adm-zip', 'global-agent', '@types/node'],
]);
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const { packages } = JSON.parse(readFileSync(join(folder, 'node_modules', '.package-lock.json'), 'utf8'));

/** Where `name` is found from a package's place, as Node looks for it. */
const placeOf = (name, from) => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/')))) {
    const place = `${at === '' || at.endsWith('/') ? at : `${at}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (at === '') return undefined;
  }
};

const kept = new Set();
const keep = (names, from) => {
  for (const name of names) {
    const place = placeOf(name, from);
    if (place === undefined || kept.has(place) || leftOut.has(name)) continue;
    kept.add(place);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = packages[place];
    // Building from source is over, and a peer is a package of the same list.
    keep(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }), place);
  }
};
keep(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }), '');

if (flag === '--list') {
  process.stdout.write(`${[...kept].sort().join('\n')}\n`);
  process.exit(0);
}
const remove = (path) => rmSync(join(folder, path), { recursive: true, force: true });
for (const place of Object.keys(packages).sort().reverse()) {
  if (kept.has(place)) continue;
  // A package that goes may hold one that stays in a node_modules of its own.
  if ([...kept].some((other) => other.startsWith(`${place}/`))) continue;
  remove(place);
}
remove('node_modules/.bin');
remove('node_modules/.cache');
const runtimes = join('node_modules', 'onnxruntime-node', 'bin');
for (const abi of existsSync(join(folder, runtimes)) ? readdirSync(join(folder, runtimes)) : []) {
  for (const system of readdirSync(join(folder, runtimes, abi))) {
    if (system !== process.platform) remove(join(runtimes, abi, system));
    else
      for (const arch of readdirSync(join(folder, runtimes, abi, system)))
        if (arch !== process.arch) remove(join(runtimes, abi, system, arch));
  }
}
// What the native module was built from.
for (const place of ['deps', 'build/Release/obj.target']) remove(join('node_modules', 'better-sqlite3', place));
