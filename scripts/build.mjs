// `npm run build`: dist from src, with the core rule pack as one file in it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'tsdown';
import { buildTool } from './build-tool.mjs';
import { root } from './checkout.mjs';

process.chdir(root);
await build({ logLevel: 'warn' });
const { bundlePack } = await import(pathToFileURL(await buildTool('src/adapters/pack-bundle.ts')).href);
writeFileSync(join('dist', 'core-pack.json'), bundlePack(join('rules', 'core')));
