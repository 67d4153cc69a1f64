import { errorCode, PortcullisError } from '../engine/errors.js';

/** The reason why the store refused. */
export type StoreErrorCode =
  /** The database can't be reached, or failed in the middle: nothing was acknowledged. */
  | 'STORE_UNAVAILABLE'
  /** The disk is full; only reading and purging work. */
  | 'STORE_DISK_FULL'
  /** `close` was called. */
  | 'STORE_CLOSED'
  /** A package that the chosen database needs isn't installed. */
  | 'STORE_PACKAGE_MISSING'
  /** The database's file is damaged. */
  | 'STORE_DAMAGED'
  /** The clock seems wrong, and something would be deleted by it. */
  | 'STORE_CLOCK'
  /** Something about how the store is set up: a path, an address, the plans file, the pepper. */
  | 'STORE_SETTINGS'
  /** There is no such account, key, plan, order ... */
  | 'STORE_NOT_FOUND'
  /** There is one already. */
  | 'STORE_CONFLICT';

/** A refusal of the store. The message never holds screened text, keys or passwords. */
export class StoreError extends PortcullisError {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether a code of another process is one of the store. */
export function isStoreCode(code: string): code is StoreErrorCode {
  return code.startsWith('STORE_');
}

/** Advice for a damaged file. */
export const DAMAGED =
  'the database file portcullis.db is damaged: stop the service and restore a backup; "sqlite3 portcullis.db .recover" may save what is left';

/** Whether SQLite says that its file is damaged, or no database at all. */
export function isDamage(error: unknown): boolean {
  const code = errorCode(error);
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB';
}

/** The error of a database as the store's own. Its message may name columns and files, never values. */
const toStoreError = (error: unknown): StoreError => {
  if (error instanceof StoreError) return error;
  const code = errorCode(error);
  if (isDamage(error)) return new StoreError('STORE_DAMAGED', DAMAGED, { cause: error });
  if (code === 'SQLITE_FULL') return new StoreError('STORE_DISK_FULL', 'the disk is full', { cause: error });
  return new StoreError('STORE_UNAVAILABLE', `the database failed (${code || 'unknown'})`, { cause: error });
};

type Method = (...args: readonly never[]) => unknown;

/** The same part of a store, whose methods reject with a `StoreError` for every error of the database. */
export function guarded<T extends object>(part: T): T {
  const wrap = (method: Method): Method => {
    return (...args) => {
      const result = method(...args);
      return result instanceof Promise
        ? result.catch((error: unknown) => {
            throw toStoreError(error);
          })
        : result;
    };
  };
  const wrapped = Object.entries(part).map(([name, value]) => [
    name,
    typeof value === 'function' ? wrap(value) : value,
  ]);
  return Object.fromEntries(wrapped) as T;
}
