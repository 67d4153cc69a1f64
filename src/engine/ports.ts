/** What the engine needs from outside. Adapters implement these; the engine imports none of them. */
import type { Span } from './span.js';

/** A text made ready for many patterns (encoded once). */
export interface Subject {
  readonly text: string;
}

/** One compiled pattern. Matching never throws. */
export interface Pattern {
  /** Non-overlapping matches, leftmost first, in UTF-16 code units of the subject; at most `max`. */
  findAll(subject: Subject, max: number): readonly Span[];
  /** True when the pattern occurs. */
  test(subject: Subject): boolean;
}

/** Many patterns asked in one pass. */
export interface PatternSet {
  /**
   * Indices of the patterns that occur, ascending; `undefined` when the matcher ran out of its memory
   * budget: the caller then asks the patterns one by one. Never a silent "no match".
   */
  match(subject: Subject): readonly number[] | undefined;
}

/** Compiles RE2 syntax. Building may throw a `PatternError`; matching may not. */
export interface RegexCompiler {
  prepare(text: string): Subject;
  compile(source: string): Pattern;
  compileSet(sources: readonly string[]): PatternSet;
}

/** A source pattern that the compiler refused. `offset` is in UTF-16 code units of the source, if known. */
export interface PatternError {
  readonly message: string;
  readonly offset: number | undefined;
}

/** Time, handed in so that the engine has no clock of its own. Milliseconds, monotone. */
export interface Clock {
  now(): number;
}

/** One window of text as the model sees it. */
export interface WindowScore {
  /** Uncalibrated log-odds of "injection"; the manifest's calibration turns it into a probability. */
  readonly logit: number;
  /** Where in the window's text the model looked, one value a token, with the token's span; absent if it cannot say. */
  readonly tokens?: readonly { readonly span: Span; readonly logit: number }[];
}

/** What a model says about itself. */
export interface ClassifierInfo {
  /** Identifies weights, tokenizer and calibration: `<id>+<first 12 hex digits of the manifest's sha256>`. */
  readonly version: string;
  /** Probability at or above which the model blocks, by operating point. */
  readonly thresholds: Readonly<Record<string, number>>;
  readonly defaultOperatingPoint: string;
}

/** One text to score, cut into windows by the classifier's own plan. */
export interface ClassifierAnswer {
  /** Calibrated probability of "injection" for the whole text, 0..1. */
  readonly probability: number;
  /** Every window that was scored, worst first. */
  readonly windows: readonly { readonly span: Span; readonly probability: number }[];
  /** Where in the text the worst window's evidence lies. */
  readonly hotspots: readonly Span[];
  /** Parts of the text that a limit kept from the model. */
  readonly unseen: readonly Span[];
}

/**
 * A model. `classify` rejects when the model is missing, broken or late; the engine's single catch turns
 * that into `ml-error-rules-fallback`.
 */
export interface Classifier {
  readonly info: ClassifierInfo;
  classify(text: string, options: { readonly deadline: number; readonly signal?: AbortSignal }): Promise<ClassifierAnswer>;
  warmUp(): Promise<void>;
  close(): Promise<void>;
}
