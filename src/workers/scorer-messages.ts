import type { EngineInfo } from '../index.js';
import type { ScorerAnswer, ScorerCall, ScorerSettings } from './scorer-settings.js';

/** What a pool says to a scorer. */
export type ToScorer =
  | { readonly kind: 'open'; readonly settings: ScorerSettings }
  | { readonly kind: 'score'; readonly calls: readonly ScorerCall[] };

/** What a scorer says to its pool. Answers come in the order of the calls. */
export type FromScorer =
  | { readonly kind: 'ready'; readonly info: EngineInfo }
  | { readonly kind: 'refused'; readonly name: string; readonly message: string }
  | { readonly kind: 'answers'; readonly answers: readonly ScorerAnswer[]; readonly rssBytes: number };
