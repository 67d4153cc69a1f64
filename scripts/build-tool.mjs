// Builds a TypeScript program of this repository that isn't part of the package (bench, fuzz) into .cache/.
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './checkout.mjs';

/** The library is not built in again: the program measures the very dist that is published. The driver of Chromium reads its own folder. */
const useBuiltLibrary = {
  name: 'use-built-library',
  resolveId: (source) => {
    const [, entry] = /\/src\/((?:web\/)?index\.js)$/.exec(source) ?? [];
    if (entry !== undefined) return { id: pathToFileURL(join(root, 'dist', entry)).href, external: true };
    return source === 'playwright-core' ? { id: source, external: true } : undefined;
  },
};

/** Builds the program and gives its file. */
export async function buildTool(entry) {
  // Loaded here: a checkout without node_modules must get as far as the install.
  const { build } = await import('tsdown');
  const outDir = join(root, '.cache', basename(join(entry, '..')));
  await build({
    config: false,
    entry: [join(root, entry)],
    outDir,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    fixedExtension: false,
    hash: false,
    dts: false,
    clean: true,
    logLevel: 'warn',
    plugins: [useBuiltLibrary],
  });
  return join(outDir, `${basename(entry, '.ts')}.js`);
}
