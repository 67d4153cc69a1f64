// `npm run build`: dist from src, with the core rule pack as a bundle (JSON, and its prepared patterns; one compressed file for
// `portcullis/web`) and the dashboard's page in it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'tsdown';
import { build as buildPage } from 'vite';
import { buildTool } from './build-tool.mjs';
import { root } from './checkout.mjs';

process.chdir(root);
await build({ logLevel: 'warn' });
await buildPage({ configFile: 'vite.config.ts' });
const { bundlePack } = await import(pathToFileURL(await buildTool('src/adapters/packs/pack-bundle.ts')).href);
const { bundle, prepared, web } = bundlePack(join('rules', 'core'));
writeFileSync(join('dist', 'core-pack.json'), bundle);
writeFileSync(join('dist', 'core-pack.bin'), prepared);
writeFileSync(join('dist', 'web', 'core-pack.gz'), gzipSync(web, { level: 9 }));
