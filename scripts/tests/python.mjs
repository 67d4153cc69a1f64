// `npm run proof -- python`, a part of `npm test`: lints, types and tests the Python client against a real `portcullis serve`, then
// builds its wheel and imports it from there. Needs Python 3.10 or newer; pip fills a virtual environment in the user's cache.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

const project = join(root, 'integrations', 'python');
const run = (command, args, environment = {}) =>
  spawnSync(command, args, { cwd: project, stdio: 'inherit', env: { ...process.env, ...environment } }).status === 0;
const fail = (why) => {
  console.error(`test:python: ${why}`);
  process.exit(2);
};

if (!run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']))
  fail('python3 is missing or older than 3.10');
if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const wanted = createHash('sha256')
  .update(readFileSync(join(project, 'pyproject.toml')))
  .digest('hex')
  .slice(0, 12);
const venv = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'portcullis', `python-${wanted}`);
const python = join(venv, 'bin', 'python');
// Written last: an install that was cut off is done again.
const stamp = join(venv, '.installed');
if (!existsSync(stamp)) {
  if (!run('python3', ['-m', 'venv', venv])) fail('python3 -m venv failed (Debian: apt-get install python3-venv)');
  if (
    !run(python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      'hatchling>=1.25',
      `${project}[test]`,
    ])
  )
    fail('pip install failed; its message is above');
  writeFileSync(stamp, '');
}
// Nothing is written into the checkout, and the sources are tested, not an older install of them.
const quiet = {
  PYTHONPATH: join(project, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  PORTCULLIS_TEST_NODE: process.execPath,
};
const cache = mkdtempSync(join(tmpdir(), 'portcullis-python-'));
const steps = [
  ['ruff check', ['-m', 'ruff', 'check', '--no-cache', '.']],
  ['ruff format', ['-m', 'ruff', 'format', '--no-cache', '--check', '.']],
  ['mypy', ['-m', 'mypy', '--cache-dir', join(cache, 'mypy')]],
  ['pytest', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...process.argv.slice(2)]],
  ['wheel', ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', cache, '.']],
];
let failed = steps.find(([name, args]) => {
  console.log(`== ${name}`);
  return !run(python, args, quiet);
})?.[0];
if (failed === undefined) {
  const wheel = readdirSync(cache).find((name) => name.endsWith('.whl')) ?? '';
  const use = `import sys; sys.path.insert(0, sys.argv[1]); import portcullis_client as p, importlib.resources as r
assert p.__file__.startswith(sys.argv[1]); assert r.files(p).joinpath('py.typed').is_file()`;
  if (!run(python, ['-c', use, join(cache, wheel)], { ...quiet, PYTHONPATH: '' })) failed = `import of ${wheel}`;
}
rmSync(cache, { recursive: true, force: true });
if (failed !== undefined) fail(`${failed} failed`);
console.log('test:python: all passed');
