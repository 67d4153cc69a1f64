import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SOURCES = [
  'src/adapters/model/model-worker.ts',
  'src/adapters/model/onnx-network.ts',
  'src/adapters/model/network.ts',
  'src/adapters/peer.ts',
  'src/engine/errors.ts',
];

/** The scoring process's program in JavaScript: tests run from the sources, but a fork can't. */
export function builtChild(): string {
  // Inside node_modules, so that the program finds its packages.
  const out = join(ROOT, 'node_modules/.cache/portcullis-child', String(process.pid));
  for (const source of SOURCES) {
    const { outputText } = ts.transpileModule(readFileSync(join(ROOT, source), 'utf8'), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022, verbatimModuleSyntax: true },
    });
    const file = join(out, source.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, outputText);
  }
  writeFileSync(join(out, 'package.json'), '{ "type": "module" }');
  return join(out, 'src/adapters/model/model-worker.js');
}
