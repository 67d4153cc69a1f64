import type { FirstAccount, UnshownAccount } from './first-account-types.js';
import type { ServiceSettings } from './settings.js';

/** What the first process of a service says to the others. */
export type ToProcess =
  | { readonly kind: 'serve'; readonly settings: ServiceSettings; readonly isFirst: boolean }
  | { readonly kind: 'shown' }
  | { readonly kind: 'metrics'; readonly id: number; readonly page: string | null }
  | { readonly kind: 'close' };

/** What they say to it. */
export type FromProcess =
  /** It listens: what is sent before is lost. */
  | { readonly kind: 'started' }
  | { readonly kind: 'ready'; readonly url: string; readonly firstAccount: FirstAccount | UnshownAccount | undefined }
  | { readonly kind: 'refused'; readonly error: ProcessFailure }
  | { readonly kind: 'metrics'; readonly id: number };

/** An error as it crosses processes: what the command line tells it by. */
export interface ProcessFailure {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}
