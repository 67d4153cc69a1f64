// `npm run proof -- fuzz`: 100,000 random and mutated texts and the big ones. -- --count N, --seed N, --small.
import { spawnSync } from 'node:child_process';
import { buildTool } from '../build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const file = await buildTool('test/torture/main.ts');
const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 2;
