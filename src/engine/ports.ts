/** Ports of the engine. Adapters implement these; the engine imports none of them. */
import type { Channel } from './channel.js';
import type { Span } from './span.js';

/** Time, handed in so that the engine has no clock of its own. */
export interface Clock {
  /** Milliseconds, monotone, from any start. */
  now(): number;
  /** Calls `run` once after `ms` milliseconds unless the returned function was called before. */
  after(ms: number, run: () => void): () => void;
}

/** A model's description of itself. */
export interface ClassifierInfo {
  /** Identifies weights, tokenizer and calibration: `<id>+<first 12 hex digits of the manifest's sha256>`. */
  readonly version: string;
  /** Probability at or above which the model blocks, by operating point. */
  readonly thresholds: Readonly<Record<string, number>>;
  /** Thresholds by channel, for channels that differ from `thresholds`; same operating points. */
  readonly channelThresholds?: Readonly<Partial<Record<Channel, Readonly<Record<string, number>>>>> | undefined;
  readonly defaultOperatingPoint: string;
  /** Probability below which the model clears a finding of the rules that is not certain; absent: it clears none. */
  readonly clearsBelow?: number | undefined;
  /** `clearsBelow` by channel, for channels that differ. */
  readonly channelClearsBelow?: Readonly<Partial<Record<Channel, number>>> | undefined;
  /** Log-odds that a rules' score of 1 adds to the model's probability, where the rules do not block; default 6. */
  readonly rulesWeight?: number | undefined;
}

/** Bounds of one classification. */
export interface ClassifyOptions {
  /** Milliseconds from the call on. */
  readonly timeoutMs: number;
  /** Maximum number of windows scored; the rest is listed in `unseen`. */
  readonly maxWindows: number;
  /** Texts from this index on are decoded readings of the ones before; absent: none is. */
  readonly derivedFrom?: number | undefined;
  /** Origin of the texts; absent: `unknown`. A classifier may ignore it. */
  readonly channel?: Channel | undefined;
  /** Task that the user gave the agent, where it is known. A classifier may ignore it. */
  readonly task?: string | undefined;
  /** The tenant of the text. Results cached for one tenant make no response to another faster. */
  readonly tenant?: string | undefined;
  /** Aborted once nobody waits for the result. */
  readonly signal: AbortSignalLike;
}

/** The part of `AbortSignal` that the engine needs. */
export interface AbortSignalLike {
  readonly aborted: boolean;
}

/** A part of one of the texts given; `text` is its index, the span is in that text. */
export interface TextSpan {
  readonly text: number;
  readonly span: Span;
}

/** One window that was scored. */
export interface ScoredWindow extends TextSpan {
  /** Calibrated for the number of windows of its text, 0..1. */
  readonly probability: number;
}

/** The result of a model for several readings of one input. */
export interface ClassifierAnswer {
  /** Calibrated probability that the input holds an injection, 0..1. */
  readonly probability: number;
  /** Every window, worst first. Identical windows are scored once and listed each. */
  readonly windows: readonly ScoredWindow[];
  /** Places of the evidence in the worst window; empty for a model that reports none. */
  readonly hotspots: readonly TextSpan[];
  /** The parts that the model did not read because of `maxWindows`. */
  readonly unseen: readonly TextSpan[];
  /** Runs of a network; default one a window. */
  readonly passes?: number | undefined;
}

/**
 * A model. It cuts the texts into windows by its own plan, and the worst window counts.
 * `classify` rejects when the model is missing, broken or late, best with a `ModelError`; the engine's
 * single catch turns that into `ml-error-rules-fallback`. The same texts with the same channel and task always give the same answer.
 */
export interface Classifier {
  readonly info: ClassifierInfo;
  classify(texts: readonly string[], options: ClassifyOptions): Promise<ClassifierAnswer>;
  /** Loads and tries the model. Rejects as `classify` does. */
  warmUp(): Promise<void>;
  /** Frees what the model holds; `classify` rejects from then on. */
  close(): Promise<void>;
}

/** A text as token ids, without the special ones at its ends. */
export interface TokenizedText {
  readonly ids: readonly number[];
  /** Offsets of each token in the text, UTF-16 code units; ascending, `starts[i] <= ends[i]`. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Splits text into the tokens of a model. Total on any string, in linear time. */
export interface Tokenizer {
  tokenize(text: string): TokenizedText;
}

/** The outputs of one run of the network. */
export interface WindowScore {
  /** Uncalibrated log-odds of "injection". */
  readonly logit: number;
  /** The same by token of `WindowInput.ids`; undefined for a network without a token head. */
  readonly tokenLogits: readonly number[] | undefined;
}

/** A window as the network reads it. */
export interface WindowInput {
  /** The window with the special tokens at both ends; behind it the task, with one more. */
  readonly ids: readonly number[];
  /** Number of ids that belong to the task, its special one included; default 0. */
  readonly taskTokens?: number | undefined;
  /** Id of the text's channel; default 0, unknown. Left out for a network that has no such input. */
  readonly channel?: number | undefined;
}

/** Runs the network on one window at a time. Rejects with a `ModelError`. */
export interface WindowScorer {
  /** Windows that it scores at once; default 1. */
  readonly parallel?: number | undefined;
  score(window: WindowInput, options: Pick<ClassifyOptions, 'timeoutMs' | 'signal'>): Promise<WindowScore>;
  warmUp(): Promise<void>;
  close(): Promise<void>;
}
