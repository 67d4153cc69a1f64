import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The path of a program that child processes run, which the build puts at the top of `dist`; undefined where it isn't
 * built. The bundler may put this file at the top or into a folder of `dist`.
 */
export function childProgram(name: string): string | undefined {
  return ['./', '../']
    .map((folder) => fileURLToPath(new URL(`${folder}${name}.js`, import.meta.url)))
    .find((file) => existsSync(file));
}
