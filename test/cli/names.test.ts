import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const OURS = 'portcullis';
const folder = mkdtempSync(join(tmpdir(), 'names-'));

/** Runs the check once, each text in a file of its own; gives the result and the files. */
const check = (texts: readonly (readonly [string, string])[]) => {
  const files = texts.map(([name, text]) => {
    const file = join(mkdtempSync(join(folder, '_')), name);
    writeFileSync(file, text);
    return file;
  });
  return { files, ...spawnSync(process.execPath, ['scripts/checks/names.mjs', ...files], { encoding: 'utf8' }) };
};

const fetching = [
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
] as const;
const found = check(fetching);

test.each(fetching.map(([name, text], at) => [name, text, found.files[at]]))(
  'a name that we do not hold is found in %s: %s',
  (_name, _text, file) => {
    const problem = found.stderr.split('\n').find((line) => line.startsWith(`${file}:`));
    expect([found.status, problem]).toEqual([
      1,
      expect.stringMatching(/:\d+: (fetches|links to|depends on) portcullis/),
    ]);
  },
);

const harmless = [
  ['page.md', `npx --no-install ${OURS} info`],
  ['page.md', `npm install ./${OURS}-1.4.0.tgz zod`],
  ['page.md', 'npm install\n\nThen portcullis serve.'],
  ['page.md', '`npm ci` and `portcullis serve`'],
  ['page.md', `npx -y @modelcontextprotocol/server-everything | ${OURS} hook`],
  ['mcp.json', `{ "command": "node", "args": ["node_modules/${OURS}/dist/cli/main.js"] }`],
  ['package.json', `{ "dependencies": { "${OURS}": "file:./x.tgz" } }`],
] as const;
const passed = check(harmless);

test.each(harmless.map(([name, text], at) => [name, text, passed.files[at]]))(
  'what fetches nothing passes in %s: %s',
  (_name, _text, file) => {
    expect(passed.stderr).not.toContain(file);
    expect(passed.stdout).toContain('0 problems');
  },
);
