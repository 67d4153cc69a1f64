import { StoreError } from '../store-error.js';

/** The error of a database as the store's own. Its message may name columns and files, never values. */
const storeErrorOf = (error: unknown): StoreError => {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'SQLITE_FULL') return new StoreError('STORE_DISK_FULL', 'the disk is full', { cause: error });
  return new StoreError('STORE_UNAVAILABLE', `the database failed (${code})`, { cause: error });
};

type Method = (...args: readonly never[]) => unknown;

/** The same part of a store, whose methods reject with a `StoreError` whatever the database throws. */
export function guarded<T extends object>(part: T): T {
  const wrap = (method: Method): Method => {
    return (...args) => {
      const result = method(...args);
      return result instanceof Promise
        ? result.catch((error: unknown) => {
            throw storeErrorOf(error);
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
