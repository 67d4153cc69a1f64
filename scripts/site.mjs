// `npm run site`: the documentation as a site, into site/dist: serve that folder from anywhere. Its packages are installed in site/ alone.
// -- --serve [--port N]: builds it and serves it on 127.0.0.1. -- --no-model: the playground without the 40 MB of the model.
// The environment variable SITE_BASE is the path that it is served under, such as /portcullis/.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureFolderInstalled, ensureInstalled, root } from './checkout.mjs';

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '4174' },
    'no-model': { type: 'boolean', default: false },
  },
});
const site = join(root, 'site');
const vitepress = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js');

function step(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}

if (!(await ensureInstalled()) || !(await ensureBuilt()) || !(await ensureFolderInstalled('site'))) process.exit(2);
rmSync(join(site, 'api'), { recursive: true, force: true });
step(join(site, 'api.mjs'));
step(join(site, 'errors.mjs'));
const playground = ['--out', join(site, 'public', 'playground'), ...(values['no-model'] ? ['--no-model'] : [])];
step(join('scripts', 'playground.mjs'), ...playground);
step(vitepress, 'build', site);
console.log(`site: ${join(site, 'dist')}`);
if (values.serve) step(vitepress, 'preview', site, '--port', values.port);
