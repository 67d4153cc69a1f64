// npm run proof:keys: 500 rotations of a key under load on each database, which `npm test` keeps in short form.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', 'test/security/keys.test.ts'];
const { status } = spawnSync(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  env: { PORTCULLIS_PROOF_ROTATIONS: '500', ...process.env },
});
process.exitCode = status ?? 2;
