// `npm run bench`: builds what is missing, then the bench itself, and runs it.
// -- --quick: a short run; -- --data FILE.jsonl: other texts; -- --record NAME: where the record goes.
// -- detection --data FILE.jsonl: what the rules find on labelled texts, instead of how fast.
import { spawnSync } from 'node:child_process';
import { buildTool } from './build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const [first, ...rest] = process.argv.slice(2);
const detection = first === 'detection';
const file = await buildTool(detection ? 'bench/detection.ts' : 'bench/main.ts');
const args = detection ? rest : process.argv.slice(2);
const { status } = spawnSync(process.execPath, [file, ...args], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 2;
