import type { Input } from '../engine/input.js';
import type { Channel } from '../engine/rules/types.js';
import type { Mode, Verdict } from '../engine/verdict.js';
import type { RecordedLimits } from './evidence-record.js';

/** One call to be screened as it was then. */
export interface ReplayCall {
  readonly input: Input;
  readonly channel: Channel;
  readonly mode: Mode;
  readonly rulesVersion: string;
  /** Null where the model isn't needed. */
  readonly mlVersion: string | null;
  readonly thresholds: { readonly rules: number; readonly model: number };
  /** Null: those of this version of the product. */
  readonly limits: RecordedLimits | null;
}

/** Screens by the versions that a call names. @throws NotKeptError */
export type ScreenAsThen = (call: ReplayCall) => Promise<Verdict>;
