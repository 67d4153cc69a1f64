import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** Finds the folder of an npm package: one installed beside this library. Undefined where there is none. */
export function packageBesideLibrary(name: string): string | undefined {
  return packageSeenFrom(import.meta.url, name);
}

/** Finds the folder of an npm package: one installed beside this library or, where there is none, for the current folder. */
export function packageFolder(name: string): string | undefined {
  return packageBesideLibrary(name) ?? packageSeenFrom(resolve('package.json'), name);
}

function packageSeenFrom(file: string, name: string): string | undefined {
  const places = createRequire(file).resolve.paths(name) ?? [];
  return places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, 'package.json')));
}
