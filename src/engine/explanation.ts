import type { RouterLevel } from './decide.js';
import type { ModelErrorCode } from './errors.js';
import type { Channel, Severity } from './rules/types.js';
import type { Span } from './span.js';
import type { ViewKind } from './text/view.js';
import type { Verdict } from './verdict.js';

/** A rule's finding as a caller sees it. */
export interface ExplainedFinding {
  readonly rule: string;
  readonly severity: Severity;
  /** The rule's own score, 0..1. */
  readonly score: number;
  /** In the text screened (see `inputText`), UTF-16 code units. */
  readonly span: Span;
  readonly view: ViewKind;
  /** The transforms that showed it, in order. */
  readonly chain: readonly string[];
  /** The start of the span's original text. It quotes the input: don't log it. */
  readonly excerpt: string;
  /** Where in a structured input, e.g. `$.arguments.body`; absent for a string. */
  readonly path?: string;
}

/** A window that the model scored. */
export interface ExplainedWindow {
  readonly span: Span;
  readonly probability: number;
  /** `raw`, or the kind of the decoded reading. */
  readonly view: ViewKind;
}

/** What the model did. */
export interface ModelReport {
  /** Calibrated probability, 0..1; null when it gave none. */
  readonly score: number | null;
  readonly verdict: 'block' | 'allow' | 'off' | 'error';
  readonly error: ModelErrorCode | null;
  /** Worst first. */
  readonly windows: readonly ExplainedWindow[];
  /** Where the evidence lies that the model went by. */
  readonly hotspots: readonly Span[];
}

/** A part of the input that a stated limit kept from being read in some way. */
export interface ExplainedUnseen {
  readonly span: Span;
  /** `model`, or the transform that stopped. */
  readonly by: string;
  readonly limit: string;
}

/** Everything behind a verdict. All spans are in the text screened, UTF-16 code units. */
export interface Explanation {
  readonly text_length: number;
  readonly channel: Channel;
  readonly router_level: RouterLevel;
  readonly rules: { readonly score: number; readonly threshold: number; readonly rule: string | null };
  readonly model: ModelReport;
  /** Strongest first, then by span. */
  readonly findings: readonly ExplainedFinding[];
  /** Of experimental rules; they count nothing. */
  readonly shadow_findings: readonly ExplainedFinding[];
  readonly unseen: readonly ExplainedUnseen[];
}

/** The extended verdict with everything behind it. */
export interface ExplainedVerdict extends Verdict {
  readonly explanation: Explanation;
}
