/** What a replay found. */
export interface ReplayReport {
  readonly outcome: 'identical' | 'different' | 'impossible';
  /** What differs, or why it can't be replayed; empty when identical. Never quotes the input. */
  readonly notes: readonly string[];
}
