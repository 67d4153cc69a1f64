// `npm run proof:batch`: the batch's promises at full length, which `npm test` keeps in short form: 50 kills at random
// moments; memory over 10 million short rows and a file of 1 GB; every verdict of a file of {"text"} as `analyze` has it.
// -- kill | flat | verdicts: one of them; -- verdicts --texts FILE.jsonl: other texts than the repository's.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

const { values, positionals } = parseArgs({ options: { texts: { type: 'string' } }, allowPositionals: true });
if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const lengths = {
  PORTCULLIS_PROOF_BATCH_KILLS: '50',
  PORTCULLIS_PROOF_BATCH_ROWS: '10000000',
  PORTCULLIS_PROOF_BATCH_BYTES: '1000000000',
  ...(values.texts === undefined ? {} : { PORTCULLIS_PROOF_BATCH_TEXTS: values.texts }),
};
const names = positionals.length > 0 ? positionals : ['kill', 'flat', 'verdicts'];
const tests = names.map((name) => `test/batch/${name}.test.ts`);
const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--no-file-parallelism', ...tests];
const { status } = spawnSync(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  // What the operator set holds: a shorter run is a variable away.
  env: { ...lengths, ...process.env },
});
process.exitCode = status ?? 2;
