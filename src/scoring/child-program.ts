import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ScoringError } from './scoring-errors.js';

/**
 * The path of a program that lies at the top of `dist`; a bundler may have put this file into another folder of it.
 *
 * @throws ScoringError `SCORER_UNAVAILABLE` where it isn't built
 */
export function childProgram(name: string): string {
  const folders = ['./', '../', './scoring/'];
  const files = folders.map((folder) => fileURLToPath(new URL(`${folder}${name}.js`, import.meta.url)));
  const found = files.find((file) => existsSync(file));
  if (found === undefined)
    throw new ScoringError('SCORER_UNAVAILABLE', "the scorer's program isn't there; build first");
  return found;
}
