// `npm run proof:store`: the store's promises at full length, which `npm test` keeps in short form.
// 200 rounds of kill -9, 50 races of three processes on each database, PostgreSQL away for 30 s under load.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const lengths = { PORTCULLIS_PROOF_KILLS: '200', PORTCULLIS_PROOF_RACES: '50', PORTCULLIS_PROOF_OUTAGE_MS: '30000' };
const tests = ['kill', 'race', 'outage'].map((name) => `test/store/${name}.test.ts`);
const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--no-file-parallelism', ...tests];
const { status } = spawnSync(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  // What the operator set holds: a shorter run is a variable away.
  env: { ...lengths, ...process.env },
});
process.exitCode = status ?? 2;
