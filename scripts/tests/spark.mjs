// `npm run proof -- spark`: the Spark module, installed as a stranger would, on a real Spark of two executors, one of which
// is killed. Needs Java 17 and Python 3.10 or newer; pip brings Spark (400 MB) into .cache/. Not a part of `npm test`.
// -- --rows 1000000 makes the job longer (rows of 60 to 110 characters, made by a seeded generator, and scored once more by
// `portcullis batch` to compare); what follows another `--` goes to pytest.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

const { values, positionals } = parseArgs({
  options: { rows: { type: 'string', default: '5000' } },
  allowPositionals: true,
});
if (!/^[1-9]\d{3,8}$/.test(values.rows)) {
  console.error('test:spark: --rows takes a number of 1000 or more');
  process.exit(2);
}
const env = { ...process.env, PORTCULLIS_SPARK_ROWS: values.rows };
const run = (command, args, cwd = root) => spawnSync(command, args, { cwd, env, stdio: 'inherit' }).status ?? 2;
const missing = ['java', 'python3'].filter((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status !== 0);
if (missing.length > 0) {
  console.error(`test:spark: ${missing.join(' and ')} can't be run; Spark needs Java 17 and Python 3.10 or newer`);
  process.exit(2);
}
if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const venv = join(root, '.cache', 'spark-venv');
const python = join(venv, 'bin', 'python');
const module = join(root, 'integrations', 'spark');
if (!existsSync(python) && run('python3', ['-m', 'venv', venv]) !== 0) process.exit(2);
if (run(python, ['-m', 'pip', 'install', '--quiet', `${module}[test]`]) !== 0) process.exit(2);
if (run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--force-reinstall', module]) !== 0) process.exit(2);
process.exitCode = run(python, ['-m', 'pytest', '-q', '-rP', ...positionals], module);
