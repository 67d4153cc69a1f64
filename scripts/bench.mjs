// `npm run bench`: builds what is missing, then the bench itself, and runs it.
// -- --quick: a short run; -- --data FILE.jsonl: other texts; -- --record NAME: where the record goes.
import { spawnSync } from 'node:child_process';
import { buildTool } from './build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const file = await buildTool('bench/main.ts');
const { status } = spawnSync(process.execPath, ['--expose-gc', file, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 2;
