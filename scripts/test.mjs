// `npm test`: installs and builds what is missing, then runs every check and test, and closes with the counts.
// Names after `--` go to vitest alone: npm test -- test/text
// `npm run test:quick`: most of the tests that run in one process, and those of the contract, without PostgreSQL and without checks.
// Those of test/hosts are run twice, on the newest and the oldest hosts; their packages are installed first.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ensureBuilt, ensureHostsInstalled, ensureInstalled, root } from './checkout.mjs';

const counts = { passed: 0, failed: 0, skipped: 0 };
/** Repeated before the counts, so that the end of a long output says what failed. */
const failures = [];
const fail = (name) => {
  counts.failed += 1;
  failures.push(name);
};
/** Starts Node and waits for its end: `[status, output]`. */
const node = (args, output) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', output, output] });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
    child.on('close', (status) => resolve([status, Buffer.concat(chunks)]));
  });

/** One step that counts as one test. Its output comes when it ends, so that steps can run side by side. */
const step = async (name, args) => {
  const started = performance.now();
  const [status, output] = await node(args, 'pipe');
  if (status === 0) counts.passed += 1;
  else fail(name);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`\n== ${name} (${seconds} s)\n${output}${status === 0 ? '' : `FAIL ${name}`}`);
};

let runs = 0;
const vitest = async (filters, least = 1) => {
  console.log('\n== vitest');
  runs += 1;
  const report = join(root, 'node_modules', '.cache', `vitest-report-${runs}.json`);
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`];
  const [status] = await node(
    [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...reporters, ...filters],
    'inherit',
  );
  if (!existsSync(report)) {
    fail('vitest wrote no report');
    return;
  }
  const result = JSON.parse(readFileSync(report, 'utf8'));
  counts.passed += result.numPassedTests;
  counts.skipped += result.numPendingTests + result.numTodoTests;
  const failedBefore = failures.length;
  for (const { name, message, assertionResults } of result.testResults) {
    const file = relative(root, name);
    if (message) fail(`${file}: ${message}`);
    for (const { status, fullName, failureMessages } of assertionResults)
      if (status === 'failed') fail(`${file}: ${fullName}\n${failureMessages.join('\n')}`);
  }
  // A failing hook, or an error outside every test, fails no test of its own.
  if (status !== 0 && failures.length === failedBefore) fail('vitest: a hook, or an error outside every test');
  if (result.numPassedTests < least) fail(`vitest ran ${result.numPassedTests} tests`);
};

/** The dashboard is tested in a real browser: Debian's headless Chromium, installed where it is missing and we may. An ordinary Chromium serves as well. */
const ensureBrowser = () => {
  if (process.env.CHROMIUM || existsSync('/usr/bin/chromium-headless-shell')) return;
  console.log('\n== installing chromium-headless-shell (apt-get)');
  const apt = (args, options = {}) =>
    spawnSync('apt-get', args, { stdio: ['ignore', 'inherit', 'inherit'], ...options }).status === 0;
  // Without a network it would try for minutes.
  if (
    !apt(['update', '-qq'], { timeout: 60_000 }) ||
    !apt(['install', '-y', '-qq', '--no-install-recommends', 'chromium-headless-shell'])
  )
    console.log('it could not be installed: install it or chromium, or name one by CHROMIUM=/path');
};

const close = () => {
  const { passed, failed, skipped } = counts;
  const skippedInCi = process.env.CI === 'true' && skipped > 0;
  if (failures.length > 0) console.log(`\n== failed\n${failures.join('\n')}`);
  if (skippedInCi) console.log(`${skipped} skipped: in CI a skipped test is a failure`);
  console.log(
    `\n${passed} passed, ${failed + (skippedInCi ? skipped : 0)} failed${skipped > 0 && !skippedInCi ? `, ${skipped} skipped` : ''}`,
  );
  process.exitCode = failed > 0 || skippedInCi ? 1 : 0;
};

const folders = (names) => names.split(' ').map((name) => `test/${name}/`);
/** Those of `npm run test:quick`, without comparisons over the whole pack and starts of the model, which take ten seconds each. */
const quick = [
  ...folders('contract engine evidence policy rules text'),
  ...['contract/model', 'rules/export', 'rules/fast-path', 'rules/matcher', 'rules/prepared-pack'].map(
    (name) => `--exclude=test/${name}.test.ts`,
  ),
];
/**
 * Tests that change what is global in their process, or kill and starve services. All other files share a process, with its
 * modules, packs and compiled patterns.
 */
const alone = [...folders('opentelemetry service/process'), 'test/service/http/tracing.test.ts'];

/** The tests of the integrations again, on the oldest versions that are supported. */
const oldestHosts = ['--config', join('test', 'hosts', 'oldest.config.ts')];

const isQuick = process.argv[2] === '--quick';
// Only the quick tests leave PostgreSQL out: a case that is left out is not counted as skipped.
delete process.env.PORTCULLIS_TEST_POSTGRES;
const filters = process.argv.slice(2).map((filter) => filter.replace(/^\.\//, ''));
/** Files of the hosts' tests that the filters name, as vitest reads them: parts of a path. */
const chosenHosts = ['test/hosts', 'test/hosts/adapters', 'test/hosts/mcp']
  .flatMap((folder) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
  .filter((file) => file.endsWith('.test.ts') && filters.some((filter) => file.includes(filter)));
if (!(await ensureInstalled()) || !(await ensureBuilt())) {
  fail('installing or building');
} else if (isQuick) {
  process.env.PORTCULLIS_TEST_POSTGRES = 'off';
  await vitest(['--no-isolate', ...quick]);
} else if (filters.length > 0) {
  // Without them their tests are left out.
  if (chosenHosts.length > 0 && !(await ensureHostsInstalled())) fail('installing the hosts');
  else {
    await vitest(filters);
    // Those of no integration run on the newest alone.
    if (chosenHosts.length > 0) await vitest([...oldestHosts, '--passWithNoTests', ...filters], 0);
  }
} else {
  ensureBrowser();
  // Without them their tests are left out, so that failing to install them is a failure of its own.
  const hasHosts = await ensureHostsInstalled();
  if (!hasHosts) fail('installing the hosts');
  const tests = async () => {
    await vitest(['--no-isolate', ...[...alone, 'test/hosts/'].map((path) => `--exclude=${path}**`)]);
    await vitest(alone);
  };
  const others = async () => {
    await step('npm run check', [join('scripts', 'check.mjs')]);
    for (const command of ['lint', 'test'])
      await step(`rules ${command}`, [join('dist', 'cli', 'main.js'), 'rules', command]);
    await step('benign texts', [join('scripts', 'proofs', 'regression.mjs')]);
    if (hasHosts)
      await step('types of the hosts', [join('node_modules', 'typescript-7', 'bin', 'tsc'), '-p', 'test/hosts']);
    await step('Python client', [join('scripts', 'tests', 'python.mjs')]);
    await step("package in a stranger's project", [join('scripts', 'tests', 'package.mjs')]);
    if (!hasHosts) return;
    // Importing the hosts takes longer than their tests.
    await vitest(['--no-isolate', 'test/hosts/']);
    await vitest(['--no-isolate', ...oldestHosts]);
  };
  // Tests wait for processes and timers, so that beside them there is time for the rest.
  await Promise.all([tests(), others()]);
}
close();
