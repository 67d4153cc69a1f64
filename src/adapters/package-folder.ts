import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';

const PACKAGE_NAME = /^(?:@[^./\\][^/\\]*\/)?[^./\\][^/\\]*$/;

/** Finds the folder of an npm package: one installed beside this library. Undefined where there is none. */
export function packageBesideLibrary(name: string): string | undefined {
  return packageSeenFrom(import.meta.url, name);
}

/** Finds the folder of an npm package: one installed for the current folder or, where there is none, beside this library. */
export function packageFolder(name: string): string | undefined {
  return packageSeenFrom(resolve('package.json'), name) ?? packageBesideLibrary(name);
}

function packageSeenFrom(file: string, name: string): string | undefined {
  if (!PACKAGE_NAME.test(name)) return undefined;
  const places = createRequire(file).resolve.paths(name) ?? [];
  // A relative place in NODE_PATH would be one in the current folder.
  return places
    .filter(isAbsolute)
    .map((place) => join(place, name))
    .find((folder) => existsSync(join(folder, 'package.json')));
}
