/** Why the store refused. */
export type StoreErrorCode =
  /** The database can't be reached, or failed in the middle: nothing was acknowledged. */
  | 'STORE_UNAVAILABLE'
  /** The disk is full; only reading and purging work. */
  | 'STORE_DISK_FULL'
  /** `close` was called. */
  | 'STORE_CLOSED'
  /** A package that the chosen database needs isn't installed. */
  | 'STORE_PACKAGE_MISSING'
  /** Something about how the store is set up: a path, an address, the plans file, the pepper. */
  | 'STORE_SETTINGS'
  /** There is no such account, key, plan, order ... */
  | 'STORE_NOT_FOUND'
  /** There is one already. */
  | 'STORE_CONFLICT';

/** A refusal of the store. The message never holds screened text, keys or passwords. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
