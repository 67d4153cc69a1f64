import { join } from 'node:path';

/** Stands in for `corePackPath` of src while dist has the bundle of these sources (vitest.config.ts). */
export function corePackPath(): string {
  return join(import.meta.dirname, '..', 'dist', 'core-pack.bin');
}
