// `npm run regression`: screens the honest texts of test/regression/benign with rules alone and with the model, and
// fails on an alarm that the record doesn't know.
// -- --model FOLDER: with another model; only counts.
// -- --update --reason "...": writes the record anew; the reason says why more alarms are worth it, or what got better.
import { spawnSync } from 'node:child_process';
import { buildTool } from '../build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const file = await buildTool('test/regression/main.ts');
const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 2;
