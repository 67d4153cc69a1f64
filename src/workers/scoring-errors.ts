import { PortcullisError } from '../index.js';

/** The pool takes no more calls now: its queue is full, or the call waited too long. Nothing was scored. */
export class OverloadedError extends PortcullisError {
  override readonly name = 'OverloadedError';
  readonly code = 'OVERLOADED';

  constructor(message: string) {
    super(message);
  }
}

/** A call that no scorer could answer. */
export class ScoringError extends PortcullisError {
  override readonly name = 'ScoringError';
  /**
   * `SCORER_LOST`: scorers were lost over this very text, twice. `SCORER_UNAVAILABLE`: no scorer comes up.
   * `SCORER_CLOSED`: the pool was closed. `SCORER_REFUSED`: the settings don't make an engine.
   */
  readonly code: 'SCORER_LOST' | 'SCORER_UNAVAILABLE' | 'SCORER_CLOSED' | 'SCORER_REFUSED';

  constructor(code: ScoringError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
