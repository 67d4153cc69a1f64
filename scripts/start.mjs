// `npm start`: installs and builds what is missing, then screens the text given after `--`, typed or piped in.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const cli = join(root, 'dist', 'cli', 'main.js');
const { status } = spawnSync(process.execPath, [cli, 'try', ...process.argv.slice(2)], { stdio: 'inherit' });
// A verdict of block is an answer here and no failure: npm would print an error report under it.
process.exitCode = status === 1 ? 0 : (status ?? 2);
