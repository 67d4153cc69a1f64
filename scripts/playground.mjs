// `npm run playground`: a page that screens text in the browser, offline, into docs/playground/dist: serve that folder from anywhere.
// -- --serve [--port N]: builds it and serves it on 127.0.0.1. -- --out FOLDER: another folder. -- --no-model: without the 26 MB model.
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '4173' },
    out: { type: 'string' },
    'no-model': { type: 'boolean', default: false },
  },
});
if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const { build, preview } = await import('vite');
const outDir = resolve(values.out ?? join(root, 'docs', 'playground', 'dist'));
const config = {
  configFile: false,
  root: join(root, 'docs', 'playground'),
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: { alias: { 'portcullis/web': join(root, 'dist', 'web', 'index.js') } },
  worker: { format: 'es' },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
};
await build(config);
cpSync(join(root, 'dist', 'web', 'core-pack.gz'), join(outDir, 'core-pack.gz'));
const models = join(root, 'models');
const model = readdirSync(models).find((name) => existsSync(join(models, name, 'manifest.json')));
if (model !== undefined && !values['no-model']) {
  mkdirSync(join(outDir, 'model'));
  for (const file of ['manifest.json', 'tokenizer.json', 'golden.jsonl', 'model.onnx'])
    cpSync(join(models, model, file), join(outDir, 'model', file));
}
console.log(`playground: ${outDir}`);
if (values.serve) {
  const server = await preview({ ...config, preview: { host: '127.0.0.1', port: Number(values.port) } });
  server.printUrls();
}
