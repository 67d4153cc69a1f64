// `npm run test:spark`: the Spark module, installed as a stranger would, on a real Spark of two executors, one of which
// is killed. Needs Java 17 and Python 3.10 or newer; pip brings Spark (400 MB) into .cache/. Not a part of `npm test`.
// PORTCULLIS_SPARK_ROWS=1000000 makes the job longer; arguments go to pytest.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

const run = (command, args, cwd = root) => spawnSync(command, args, { cwd, stdio: 'inherit' }).status ?? 2;
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
process.exitCode = run(python, ['-m', 'pytest', '-q', ...process.argv.slice(2)], module);
