// npm run proof -- contract [--cases 2500] [--schemathesis PATH]: schemathesis, all checks, against `portcullis serve` by its
// own /openapi.json. Schemathesis is a Python program: python3 -m venv V && V/bin/pip install schemathesis==4.32.*
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, root } from '../checkout.mjs';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '2500' },
    schemathesis: { type: 'string', default: process.env.SCHEMATHESIS ?? 'schemathesis' },
    seed: { type: 'string', default: '1' },
    record: { type: 'string' },
  },
});

if (spawnSync(values.schemathesis, ['--version']).status !== 0) {
  console.error('schemathesis is not there: pip install "schemathesis==4.32.*", and name it by --schemathesis PATH');
  process.exit(2);
}
if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(1);

const folder = mkdtempSync(join(tmpdir(), 'portcullis-proof-contract-'));
const main = join(root, 'dist', 'cli', 'main.js');
const place = ['--data', folder];
const admin = (...args) =>
  execFileSync(process.execPath, [main, 'admin', ...args, ...place], { encoding: 'utf8' }).trim();

/** Starts the service; resolves with its address. */
const serve = () =>
  new Promise((resolve, reject) => {
    const args = [main, 'serve', ...place, '--port', '0', '--mode', 'rules', '--log-level', 'error'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += chunk;
        const url = /^ready (http:\S+)$/m.exec(said)?.[1];
        if (url !== undefined) resolve({ child, url, said: () => said });
      });
    child.once('exit', () => reject(new Error(`the service ended: ${said}`)));
  });

const { child, url, said } = await serve();
try {
  admin('account', 'create', 'schemathesis', '--plan', 'scale');
  const key = admin('key', 'create', 'schemathesis');
  const run = spawnSync(
    values.schemathesis,
    [
      ...['run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${key}`, '--checks', 'all'],
      ...[
        '--max-examples',
        values.cases,
        '--seed',
        values.seed,
        '--request-timeout',
        '30',
        '--generation-database',
        'none',
      ],
      ...['--continue-on-failure', '--no-color'],
    ],
    { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 28 },
  );
  const output = `${run.stdout}${run.stderr}`.replaceAll(url, 'http://127.0.0.1').replaceAll(key, '<API_KEY>');
  console.log(output);
  const logged = said()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  if (logged.length > 0) console.log(`the service logged ${logged.length} errors, the first: ${logged[0]}`);
  if (values.record !== undefined) {
    mkdirSync(join(values.record, '..'), { recursive: true });
    writeFileSync(
      values.record,
      `# schemathesis, all checks\n\nCommand: \`npm run proof -- contract --cases ${values.cases}\`.\n\n\`\`\`\n${output.trim()}\n\`\`\`\n`,
    );
  }
  process.exitCode = run.status === 0 && logged.length === 0 ? 0 : 1;
} finally {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
}
