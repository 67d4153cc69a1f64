import type { Store } from '../store/store.js';

/** What a screening call needs of the store. */
export type ScreeningStore = Pick<Store, 'keys' | 'usage' | 'evidence' | 'ready'>;

/** Whose key it is. */
export type KeyOwner = NonNullable<Awaited<ReturnType<Store['keys']['find']>>>;
