import { PortcullisError } from '../engine/errors.js';

/** A version that isn't kept, or that this version of the product can't run any more. */
export class NotKeptError extends PortcullisError {
  override readonly name = 'NotKeptError';
  readonly code = 'VERSION_NOT_KEPT';

  constructor(message: string) {
    super(message);
  }
}
