import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Finds the pack that comes with the library: the prepared one of a built library, else the folder it is made from. */
export function corePackPath(): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const path of [join(folder, 'core-pack.bin'), join(folder, 'rules', 'core')])
      if (existsSync(path)) return path;
    if (dirname(folder) === folder) return undefined;
  }
}
