import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

/** A pack of one rule, where the library looks for its own. */
const PACK = {
  'rules/core/pack.yaml': 'name: core\nversion: 0.0.1\ndescription: One rule.\nlicence: Apache-2.0\nthreshold: 0.5\n',
  'rules/core/words/en.yaml': 'end: [armageddon]\n',
  'rules/core/test/end.yaml': `
id: test.end
version: 1.0.0
title: The end
description: Detects the end.
status: stable
severity: high
paranoia: 1
score: 0.9
languages: [en]
tags: [owasp:LLM01]
match: { any: ['\\b{{end}}\\b'] }
examples:
  positive: [{ text: an armageddon, hit: armageddon }]
  negative: [{ text: no end, why: another word }]
`,
};

/**
 * The built library in a folder of its own, outside this checkout, with its dependencies, a small pack and
 * what is asked for: how it looks to a user who did or didn't install the optional parts.
 */
export function installedCopy(parts: { readonly runtime: boolean; readonly model: string | undefined }): string {
  const root = mkdtempSync(join(tmpdir(), 'portcullis-copy-'));
  // Without the pack that is built, and what no program here imports.
  cpSync(join(ROOT, 'dist'), join(root, 'dist'), {
    recursive: true,
    filter: (path) => !/dist\/(?:core-pack|web|dashboard)/.test(path),
  });
  writeFileSync(join(root, 'package.json'), '{ "name": "portcullis", "type": "module" }');
  for (const [file, text] of Object.entries(PACK)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  mkdirSync(join(root, 'node_modules'));
  for (const name of [...Object.keys(dependencies), ...(parts.runtime ? ['onnxruntime-node'] : [])]) {
    symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
  }
  if (parts.model !== undefined) {
    mkdirSync(join(root, 'models'));
    symlinkSync(parts.model, join(root, 'models', 'tiny'));
  }
  return root;
}
