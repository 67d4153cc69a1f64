// `npm run test:transformers`: the adapter for @huggingface/transformers with the real package. It is an optional
// peer of 474 MB, so it is installed into a temporary folder and not into this checkout.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './checkout.mjs';

const VERSION = '4.3.1';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-transformers-'));
writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
const run = (command, args, options) => spawnSync(command, args, { stdio: 'inherit', ...options }).status ?? 2;
try {
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `@huggingface/transformers@${VERSION}`];
  process.exitCode = run('npm', install, {
    cwd: folder,
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL_CUDA: 'skip' },
    shell: process.platform === 'win32',
  });
  if (process.exitCode === 0) {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    process.exitCode = run(process.execPath, [vitest, 'run', 'test/model/transformers-real.test.ts'], {
      cwd: root,
      env: { ...process.env, PORTCULLIS_TRANSFORMERS: folder },
    });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
