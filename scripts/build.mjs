// `npm run build`: dist from src, with the core rule pack as one file and the dashboard's page in it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'tsdown';
import { build as buildPage } from 'vite';
import { buildTool } from './build-tool.mjs';
import { root } from './checkout.mjs';

process.chdir(root);
await build({ logLevel: 'warn' });
await buildPage({ configFile: 'vite.config.ts' });
const { bundlePack } = await import(pathToFileURL(await buildTool('src/adapters/packs/pack-bundle.ts')).href);
writeFileSync(join('dist', 'core-pack.json'), bundlePack(join('rules', 'core')));
