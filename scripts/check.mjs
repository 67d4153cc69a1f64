// `npm run check`: everything that must be green beside the tests. Names as arguments run only those.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const bin = (name) => join('node_modules', '.bin', name);
const checks = {
  types: [
    [bin('tsc'), '-p', 'src'],
    [bin('tsc'), '-p', 'src/engine'],
    [bin('tsc'), '-p', 'src/web', '--noEmit'],
    [bin('tsc'), '-p', 'src/dashboard/web'],
    [bin('tsc'), '-p', 'docs/playground'],
    [bin('tsc'), '-p', '.'],
  ],
  lint: [[bin('biome'), 'check', '--error-on-warnings', '.']],
  layers: [['node', 'scripts/checks/layers.mjs']],
  documents: [['node', 'scripts/checks/docs.mjs']],
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
  ],
};

/** Runs one check; its output is shown only when it fails. */
const passes = (name) => {
  const started = performance.now();
  for (const [command, ...args] of checks[name]) {
    const run = spawnSync(command, args, { encoding: 'utf8', shell: process.platform === 'win32' });
    if (run.status !== 0) {
      console.error(`${run.stdout ?? ''}${run.stderr ?? ''}${run.error ?? ''}`.trimEnd());
      console.error(`FAIL ${name}: ${command} ${args.join(' ')}`);
      return false;
    }
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
const failed = (wanted.length > 0 ? wanted : Object.keys(checks)).filter((name) => !passes(name));
if (failed.length > 0) console.error(`npm run check: ${failed.join(', ')} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
