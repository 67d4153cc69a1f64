// `npm run check`: everything that must be green beside the tests. Names as arguments run only those.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const bin = (name) => join('node_modules', '.bin', name);
// TypeScript 7 checks in a third of the CPU time. It has no interface for programs, so that version 6 is there as well, for the build.
const tsc = ['node', join('node_modules', 'typescript-7', 'bin', 'tsc')];
const checks = {
  types: [
    [...tsc, '-p', 'src'],
    [...tsc, '-p', 'src/engine'],
    [...tsc, '-p', 'src/web', '--noEmit'],
    [...tsc, '-p', 'src/dashboard/web'],
    [...tsc, '-p', 'docs/playground'],
    [...tsc, '-p', '.'],
  ],
  lint: [[bin('biome'), 'check', '--error-on-warnings', '.']],
  layers: [['node', 'scripts/checks/layers.mjs']],
  functions: [['node', 'scripts/checks/functions.mjs']],
  documents: [['node', 'scripts/checks/docs.mjs']],
  integrations: [['node', 'scripts/checks/integrations.mjs']],
  names: [['node', 'scripts/checks/names.mjs']],
  licences: [['node', 'scripts/checks/licences.mjs']],
  lock: [['node', 'scripts/checks/lock.mjs']],
  workflows: [['node', 'scripts/checks/workflows.mjs']],
  deploy: [['node', 'scripts/checks/deploy.mjs']],
  generated: [['node', 'scripts/generate/rule-json-schema.mjs', '--check']],
  unused: [[bin('knip'), '--no-progress']],
  package: [
    [bin('publint'), '--strict', '--pack', 'npm'],
    // `web/core-pack` is a file to serve, not a module.
    [bin('attw'), '--pack', '.', '--profile', 'esm-only', '--exclude-entrypoints', 'web/core-pack', '--quiet'],
    ['node', 'scripts/checks/sbom.mjs'],
  ],
};

/** Runs one command; resolves with its output where it fails, else with undefined. */
const failureOf = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    child.on('error', (error) => resolve(String(error)));
    child.on('close', (status) => resolve(status === 0 ? undefined : output.trimEnd()));
  });

/** Runs one check; its output is shown only when it fails. */
const passes = async (name) => {
  const started = performance.now();
  for (const [command, ...args] of checks[name]) {
    const failure = await failureOf(command, args);
    if (failure === undefined) continue;
    console.error(failure);
    console.error(`FAIL ${name}: ${command} ${args.join(' ')}`);
    return false;
  }
  console.log(`ok   ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return true;
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in checks));
if (unknown.length > 0) {
  console.error(`No check named ${unknown.join(', ')}. There are: ${Object.keys(checks).join(', ')}`);
  process.exit(2);
}
/** These install the linters when they first need them, so that they run one after another. */
const linting = ['workflows', 'deploy', 'package'];
const names = wanted.length > 0 ? wanted : Object.keys(checks);
const [first = [], ...others] = names.filter((name) => !linting.includes(name)).map((name) => [name]);
const waiting = [first, names.filter((name) => linting.includes(name)), ...others];
const failed = [];
const runWaiting = async () => {
  for (let chain = waiting.shift(); chain !== undefined; chain = waiting.shift())
    for (const name of chain) if (!(await passes(name))) failed.push(name);
};
// Two at once: nearly all of them use one core, and `types` takes as long as all others together.
await Promise.all([runWaiting(), runWaiting()]);
if (failed.length > 0) console.error(`npm run check: ${failed.join(', ')} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
