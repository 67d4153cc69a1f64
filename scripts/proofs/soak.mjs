// `npm run proof -- soak kill|outage|quota|keys|model|memory|all [--rounds N] [--record]`: the service under load and trouble, at full
// length: some minutes each. `npm test` runs each in short form. `keys` is `npm run proof -- keys`, on both databases; `all` has it too.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildTool } from '../build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const args = process.argv.slice(2);
const run = (...command) => spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' }).status ?? 2;
const keys = () => run(join(root, 'scripts', 'proofs', 'keys.mjs'), ...args);
const all = args.every((it, at) => it === 'all' || it.startsWith('--') || args[at - 1] === '--rounds');
if (args[0] === 'keys') process.exitCode = keys();
else process.exitCode = run(await buildTool('bench/soak/main.ts'), ...args) || (all ? keys() : 0);
