// `npm run proof -- fuzz-mcp`: 20,000 cases between a client and a server of the official MCP SDK. -- --cases N, --from N, --seed N.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureHostsInstalled, ensureInstalled, root } from '../checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt()) || !(await ensureHostsInstalled())) process.exit(2);
const file = join(root, 'test', 'hosts', 'mcp', 'fuzz', 'main.js');
const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 2;
