// Runs tests at the length that a proof wants, where `npm test` runs their short form.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

/** Runs the test files one after the other with these lengths (environment variables), and ends with their exit status. */
export async function runLongTests(tests, lengths) {
  if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
  const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--no-file-parallelism', ...tests];
  const { status } = spawnSync(process.execPath, vitest, {
    cwd: root,
    stdio: 'inherit',
    // What the operator set holds: a shorter run is a variable away.
    env: { ...lengths, ...process.env },
  });
  process.exitCode = status ?? 2;
}
