// Brings a checkout to where its commands work: dependencies installed, native modules loadable, dist built.
// Uses Node alone, since it runs before anything is installed.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line) => process.stderr.write(`portcullis: ${line}\n`);

const secondsSince = (started) => Math.round((performance.now() - started) / 1000);

/** Runs a command in the checkout; its output goes to stderr, so that stdout stays the caller's. */
const run = (command, args, environment = {}) =>
  new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 2, 2],
      env: { ...process.env, ...environment },
      // On Windows npm is a script for the shell, which would take a path with a space for two words.
      shell: command === 'npm' && process.platform === 'win32',
    });
    const alive = setInterval(() => say(`... ${secondsSince(started)} s`), 30_000);
    const end = (good) => {
      clearInterval(alive);
      resolve(good);
    };
    child.on('error', () => end(false));
    child.on('exit', (status) => end(status === 0));
  });

const npm = (args) => {
  const cli = process.env.npm_execpath;
  const skip = { ONNXRUNTIME_NODE_INSTALL: 'skip', PORTCULLIS_SKIP_PREPARE: '1' };
  const quiet = [...args, '--loglevel=error', '--no-audit', '--no-fund'];
  return cli ? run(process.execPath, [cli, ...quiet], skip) : run('npm', quiet, skip);
};

/** True when every package that the lock file asks for is installed in that version. */
const dependenciesAreInstalled = () => {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
};

/** The database's native module is built for one version of Node: asks a fresh process whether this one can load it. */
const databaseLoads = () =>
  spawnSync(process.execPath, ['-e', "new (require('better-sqlite3'))(':memory:')"], { cwd: root, stdio: 'ignore' })
    .status === 0;

/** Installs what is missing. Returns false, having said why, when that failed. */
export async function ensureInstalled() {
  if (!dependenciesAreInstalled()) {
    // `npm ci` would empty the folder behind the link, which is another checkout's.
    if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
      say('node_modules is a link to another checkout and lacks something: install there');
      return false;
    }
    say('installing dependencies (npm ci); better-sqlite3 may have to be compiled, which takes 2-3 minutes ...');
    const started = performance.now();
    if (!(await npm(['ci']))) {
      say(
        'npm ci failed; its message is above. To compile better-sqlite3, a C++ compiler, make and Python 3 are needed.',
      );
      return false;
    }
    say(`installed in ${secondsSince(started)} s`);
  }
  if (databaseLoads()) return true;
  say(`building better-sqlite3 for Node ${process.versions.node} (npm rebuild better-sqlite3), 2-3 minutes ...`);
  if ((await npm(['rebuild', 'better-sqlite3'])) && databaseLoads()) return true;
  say(
    'better-sqlite3 cannot be loaded. A C++ compiler, make and Python 3 are needed; then: npm rebuild better-sqlite3',
  );
  return false;
}

/** Installs a folder's own packages unless they are those of its lock file. Returns false, having said why, when that failed. */
export async function ensureFolderInstalled(path, note = '') {
  const folder = join(root, path);
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'node_modules', '.installed-from');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return true;
  say(`npm ci in ${path}${note} ...`);
  if (!(await npm(['ci', '--prefix', folder]))) {
    say(`npm ci in ${path} failed; its message is above`);
    return false;
  }
  writeFileSync(stamp, lock);
  return true;
}

/** Installs the packages that the integrations are tested against, newest and oldest. Returns false, having said why, when that failed. */
export async function ensureHostsInstalled() {
  const note = ': the hosts of the integrations, 1-2 minutes and 700 MB';
  for (const path of ['test/hosts', 'test/hosts/oldest']) if (!(await ensureFolderInstalled(path, note))) return false;
  return true;
}

const buildInputs = [
  'src',
  'rules',
  'package.json',
  'package-lock.json',
  'tsdown.config.ts',
  'vite.config.ts',
  'scripts/build.mjs',
  'scripts/generate/package-records.mjs',
  'models/portcullis-minilm-1/manifest.json',
];

/** Every file at or under a path, in a fixed order. */
const filesOf = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, encoding: 'utf8' })
        .map((name) => join(path, name))
        .filter((file) => statSync(file).isFile())
        .sort();

/** What the bundle of the core pack is made from: less than the whole, so that it stays good while other parts change. */
const corePackInputs = ['src/engine', 'src/adapters', 'rules', 'package-lock.json'];

/** One digest over the names and contents of files and folders. */
const digestOf = (inputs) => {
  const hash = createHash('sha256');
  for (const input of inputs) {
    const path = join(root, input);
    if (!existsSync(path)) continue;
    for (const file of filesOf(path))
      hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
};

/** Digests of what dist was built from: of all of it, and of the core pack's part. */
const buildStamp = join(root, 'dist', '.built-from');
const readStamp = () => {
  const [all, corePack] = existsSync(buildStamp) ? readFileSync(buildStamp, 'utf8').split('\n') : [];
  return { all, corePack };
};

/** True while the bundle of the core pack in dist is made from these very sources. */
export function isCorePackBuilt() {
  return readStamp().corePack === digestOf(corePackInputs);
}

/** Notes the sources that dist is being built from. Returns `finishBuild`, which writes them down. */
export function startBuild() {
  const digests = [digestOf(buildInputs), digestOf(corePackInputs)];
  return () => writeFileSync(buildStamp, digests.join('\n'));
}

/** Builds dist unless it was built from these very sources. Returns false, having said why, when that failed. */
export async function ensureBuilt() {
  if (readStamp().all === digestOf(buildInputs)) return true;
  say('building ...');
  const started = performance.now();
  if (!(await run(process.execPath, [join('scripts', 'build.mjs')]))) {
    say('the build failed; its message is above');
    return false;
  }
  say(`built in ${secondsSince(started)} s`);
  return true;
}
