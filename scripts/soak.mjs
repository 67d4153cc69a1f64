// `npm run soak -- kill|outage|quota|keys|model|memory|all [--rounds N] [--record]`: the service under load and trouble, at full
// length: some minutes each. `npm test` runs each in short form.
import { spawnSync } from 'node:child_process';
import { buildTool } from './build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const file = await buildTool('bench/soak/main.ts');
const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 2;
