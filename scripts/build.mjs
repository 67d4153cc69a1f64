// `npm run build`: dist from src, with the prepared core rule pack (compressed for `portcullis/web` as well) and the dashboard's
// page in it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'tsdown';
import { build as buildPage } from 'vite';
import { buildTool } from './build-tool.mjs';
import { root, startBuild } from './checkout.mjs';
import { writeRecords } from './generate/package-records.mjs';

process.chdir(root);
// npm packs files with their permissions: a build under a stricter mask gives the same package.
process.umask(0o022);
const finishBuild = startBuild();
await build({ logLevel: 'warn' });
const page = await buildPage({ configFile: 'vite.config.ts' });
const { preparePack } = await import(pathToFileURL(await buildTool('src/adapters/packs/prepared-pack.ts')).href);
const { prepared, rest } = preparePack(join('rules', 'core'));
writeFileSync(join('dist', 'core-pack.bin'), prepared);
writeFileSync(join('dist', 'core-pack.json'), rest);
writeFileSync(join('dist', 'web', 'core-pack.gz'), gzipSync(prepared, { level: 9 }));

// The bundler names the sources of each region; the page is minified, and its chunks are asked.
const regions = readdirSync('dist', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js'))
  .flatMap((name) => readFileSync(join('dist', name), 'utf8').match(/^\/\/#region .*$/gm) ?? []);
const pageModules = [page].flat().flatMap(({ output }) => output.flatMap(({ moduleIds }) => moduleIds ?? []));
const { builtIn } = JSON.parse(readFileSync(join('scripts', 'layers.json'), 'utf8'));
const packagesOf = (sources) =>
  sources.flatMap((it) => it.match(/(?<=node_modules\/)(?:@[^/]+\/)?[^/]+(?=\/(?!.*node_modules\/))/g) ?? []);
writeRecords([...builtIn, ...packagesOf([...regions, ...pageModules.map((id) => id.replaceAll('\\', '/'))])]);
finishBuild();
