import { PortcullisError } from '../index.js';

/** A batch can't be started or go on. Never holds screened text. */
export class BatchError extends PortcullisError {
  override readonly name = 'BatchError';
  readonly code: 'BATCH_INPUT' | 'BATCH_OUTPUT' | 'BATCH_RESUME' | 'BATCH_STRICT' | 'BATCH_UNSUPPORTED';

  constructor(code: BatchError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
