import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'integrations-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const path of [
  'package.json',
  'README.md',
  'docs/hosts',
  'site/sidebar.mjs',
  'src/integrations',
  'test/hosts',
  'test/policy/run',
])
  cpSync(path, join(folder, path), { recursive: true, filter: (source) => !source.endsWith('node_modules') });

const check = () =>
  spawnSync(process.execPath, [resolve('scripts/checks/integrations.mjs')], { cwd: folder, encoding: 'utf8' });

test('every integration is in all lists', () => {
  expect(check()).toMatchObject({ status: 0, stderr: '' });
});

test('everything that a new integration lacks is named at once', () => {
  mkdirSync(join(folder, 'src/integrations/acme'));
  writeFileSync(join(folder, 'src/integrations/acme/index.ts'), '');
  const oldest = join(folder, 'test/hosts/oldest/package.json');
  writeFileSync(oldest, readFileSync(oldest, 'utf8').replace('"ai":', '"acme": "1.0.0",\n    "ai":'));
  const { status, stderr } = check();
  expect(status).toBe(1);
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line) => line.split(/[,;]/)[0]),
  ).toEqual([
    'acme: package.json: `exports` lacks "./acme"',
    'acme: docs/hosts/acme.md is missing',
    "acme: README.md doesn't link to docs/hosts/acme.md",
    "acme: docs/hosts/README.md doesn't link to acme.md",
    "acme: site/sidebar.mjs lacks '/hosts/acme'",
    'acme: test/hosts/adapters/examples/acme.ts is missing',
    'acme: test/hosts/adapters/acme.test.ts is missing',
    'acme: test/hosts/adapters/conformance.test.ts has no row for it',
    'acme: test/hosts/adapters/examples.test.ts has no row for it',
    'acme: test/hosts/answers.test.ts has no row for it',
    'acme: test/hosts/streamed-answers.test.ts has no row for it',
    'acme: test/hosts/thoughts.test.ts has no row for it',
    'acme: test/policy/run/hosts.test.ts has no row for it',
    'acme: test/hosts/package.json lacks its newest version',
    'acme: package.json lacks it in `peerDependencies`',
  ]);
});
