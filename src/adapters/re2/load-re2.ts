import { createRequire } from 'node:module';
import type RE2 from 're2';
import { PortcullisError } from '../../engine/errors.js';

/** re2's compiled part is missing or was compiled for another version of Node. The message says how to fix it. */
export class NativeModuleError extends PortcullisError {
  override readonly name = 'NativeModuleError';
  readonly code = 'NATIVE_MODULE_MISSING';
}

/** How re2 is loaded; handed in, so that a test sees what a failure says. */
export type LoadModule = (name: string) => unknown;

/**
 * The RE2 constructor. A plain `import` would end in Node's own words about a missing `.node` file, which don't tell
 * a user of npm 12 that an install script was held back.
 *
 * @throws NativeModuleError
 */
export function loadRe2(load: LoadModule = createRequire(import.meta.url)): typeof RE2 {
  try {
    return load('re2') as typeof RE2;
  } catch (cause) {
    throw new NativeModuleError(
      `re2 can't be loaded by Node ${process.versions.node}: it isn't compiled, or for another version of Node. ` +
        'Run "npm rebuild re2" (needs a C++ compiler, make and Python 3). npm 12 runs its install script only when ' +
        'package.json holds "allowScripts": { "re2": true }.',
      { cause },
    );
  }
}
