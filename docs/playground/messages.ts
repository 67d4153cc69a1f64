import type { EngineInfo, ExplainedVerdict } from 'portcullis/web';

/** What the page asks of its worker. */
export type ToWorker =
  | { readonly kind: 'load-model' }
  | { readonly kind: 'screen'; readonly id: number; readonly text: string };

/** What the worker says. Times in milliseconds. */
export type FromWorker =
  | {
      readonly kind: 'ready';
      readonly info: EngineInfo;
      readonly titles: Readonly<Record<string, string>>;
      readonly ms: number;
    }
  | { readonly kind: 'verdict'; readonly id: number; readonly verdict: ExplainedVerdict; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string };
