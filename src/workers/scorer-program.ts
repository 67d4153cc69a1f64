import { childProgram } from '../adapters/child-program.js';
import { ScoringError } from './scoring-errors.js';

/**
 * The path of a scorer's program.
 *
 * @throws ScoringError `SCORER_UNAVAILABLE` where it isn't built
 */
export function scorerProgram(name: 'scorer-child' | 'batch-child'): string {
  const file = childProgram(name);
  if (file === undefined) throw new ScoringError('SCORER_UNAVAILABLE', "the scorer's program isn't there; build first");
  return file;
}
