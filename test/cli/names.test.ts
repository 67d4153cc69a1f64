import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const OURS = 'portcullis';
const folder = mkdtempSync(join(tmpdir(), 'names-'));

/** Runs the check on one file. */
const check = (name: string, text: string) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return spawnSync(process.execPath, ['scripts/checks/names.mjs', file], { encoding: 'utf8' });
};

test.each([
  ['page.md', `Run \`npx -y ${OURS} info\`.`],
  ['page.md', `one\nnpx ${OURS}@1.4.0 info`],
  ['page.md', `npm install --save-dev ${OURS}`],
  ['page.md', `npm i other ${OURS}@latest`],
  ['page.md', `npm exec --yes --package=${OURS} -- info`],
  ['page.md', `npm install other \\\n  ${OURS}`],
  ['page.md', `pnpm dlx ${OURS}, or yarn add x`],
  ['page.md', `python -m pip install '${OURS}-client[langchain]==1.1'`],
  ['page.md', `uvx --from x ${OURS}-client`],
  ['page.md', `<script type="module" src="https://esm.sh/${OURS}/web">`],
  ['page.md', `import x from 'npm:${OURS}@1'`],
  ['mcp.json', `{ "command": "npx",\n "args": [\n "-y",\n "${OURS}", "mcp-proxy"] }`],
  ['start.ts', `spawn('npx', ['-y', '${OURS}']);`],
  ['start.ts', `fail('npx runs a copy. Install it (npm install -g ${OURS})');`],
  ['package.json', `{ "dependencies": { "${OURS}": "^1.4.0" } }`],
])('a name that we do not hold is found in %s: %s', (name, text) => {
  const { status, stderr } = check(name, text);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/:\d+: (fetches|links to|depends on) portcullis/)]);
});

test.each([
  ['page.md', `npx --no-install ${OURS} info`],
  ['page.md', `npm install ./${OURS}-1.4.0.tgz zod`],
  ['page.md', 'npm install\n\nThen portcullis serve.'],
  ['page.md', '`npm ci` and `portcullis serve`'],
  ['page.md', `npx -y @modelcontextprotocol/server-everything | ${OURS} hook`],
  ['mcp.json', `{ "command": "node", "args": ["node_modules/${OURS}/dist/cli/main.js"] }`],
  ['package.json', `{ "dependencies": { "${OURS}": "file:./x.tgz" } }`],
])('what fetches nothing passes in %s: %s', (name, text) => {
  expect(check(name, text).stdout).toContain('0 problems');
});
