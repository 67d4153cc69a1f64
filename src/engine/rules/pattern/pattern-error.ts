import { PortcullisError } from '../../errors.js';

/** A pattern of correct syntax that can't be compiled. The message is half a sentence. Callers report it as the author's mistake. */
export class PatternError extends PortcullisError {
  override readonly name = 'PatternError';
  readonly code = 'PATTERN_UNFIT';
}
