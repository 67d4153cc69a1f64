import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-no-peers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The MCP gateway is a command, not an integration: it imports packages that the library depends on.
const sources = readdirSync('src/integrations', { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll(sep, '/'))
  .filter((name) => name.endsWith('.ts') && !name.startsWith('mcp/'));
const names = sources.filter((name) => name.endsWith('/index.ts')).map((name) => name.replace('/index.ts', ''));

it('no integration imports a package: each loads where no host is installed, and its types too', () => {
  expect(names.length).toBeGreaterThan(7);
  for (const name of sources) {
    const specifiers = [
      ...readFileSync(join('src/integrations', name), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g),
    ];
    for (const [, specifier] of specifiers) expect(specifier).toMatch(/^(\.|node:)/);
  }
});

it('the policy works over a client without the engine: nothing native is loaded', () => {
  // Two files of the build and what they import, in a folder without any node_modules but the cache's.
  cpSync('node_modules/lru-cache', join(folder, 'node_modules/lru-cache'), { recursive: true, dereference: true });
  cpSync('dist', join(folder, 'dist'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'use.js'),
    `import { createGuard } from './dist/policy.js';
     const names = ${JSON.stringify(names)};
     const loaded = await Promise.all(names.map((name) => import('./dist/' + name + '.js')));
     const verdict = { verdict: 'block', rule: 'r', reason: 'Bad.', score: 1, threshold: 0.5, evidence_id: 'ev_0' };
     const { action } = await createGuard({ client: { analyze: async () => verdict } }).screen('document', 'x');
     console.log(loaded.length, action);`,
  );
  expect(execFileSync(process.execPath, ['use.js'], { cwd: folder, encoding: 'utf8' })).toBe(
    `${names.length} replace\n`,
  );
});
