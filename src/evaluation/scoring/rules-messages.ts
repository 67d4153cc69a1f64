import type { RulesReading, ScanRequest } from './scan-text.js';

/** A piece of the texts for a child to screen. */
export interface ToRulesChild {
  readonly packs: readonly string[] | undefined;
  readonly overlays: readonly string[] | undefined;
  readonly piece: number;
  readonly texts: readonly string[];
  readonly request: ScanRequest;
}

export interface FromRulesChild {
  readonly piece: number;
  /** In the order of the texts. */
  readonly readings: readonly RulesReading[];
}
