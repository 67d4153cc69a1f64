// The lock file must be that of package.json, serve every platform and name no registry: `npm ci` refuses one that lacks the packages of
// other platforms, and npm leaves those out silently when a registry doesn't have them yet.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const faults = Object.entries(packages).flatMap(([path, { optionalDependencies, resolved }]) => [
  ...(resolved === undefined
    ? []
    : [`${path} names the registry it came from: npm install --omit-lockfile-registry-resolved`]),
  ...Object.keys(optionalDependencies ?? {})
    .filter((name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages))
    .map(
      (name) => `${path}: its optional dependency ${name} is missing; take a version that is out for every platform`,
    ),
]);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
for (const kind of ['dependencies', 'devDependencies', 'peerDependencies', 'peerDependenciesMeta'])
  if (!isDeepStrictEqual(packages[''][kind], manifest[kind]))
    faults.push(`${kind} are not those of package.json: npm install --package-lock-only --ignore-scripts`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
