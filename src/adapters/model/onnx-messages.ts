import type { ModelErrorCode } from '../../engine/errors.js';
import type { WindowScore } from '../../engine/ports.js';
import type { NetworkSpec } from './onnx-network.js';

/** What the parent says to the scoring child. */
export type ToChild =
  | { readonly kind: 'load'; readonly spec: NetworkSpec }
  | { readonly kind: 'run'; readonly ids: readonly number[] };

/** What the child answers, one message for each of the parent's. */
export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'score'; readonly score: WindowScore; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly code: ModelErrorCode; readonly message: string };
