import type { Channel } from './channel.js';
import type { Decision, RouterLevel, RulesSide } from './decide.js';
import type { ModelErrorCode } from './errors.js';
import type { Subjected } from './input.js';
import type { EngineLimits } from './limits.js';
import type { ModelAnswer } from './model/circuit-breaker.js';
import type { ModelTexts } from './model/views.js';
import type { TextSpan } from './ports.js';
import type { Finding, RulesSignal, Severity } from './rules/types.js';
import { edgeBefore, type Span } from './span.js';
import type { ViewKind, ViewSet } from './text/view.js';
import type { Verdict } from './verdict.js';

/** A match of a rule. */
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
  /**
   * The text that the rule read at the span, where its view is not `raw`: the start of the decoded or normalised text. It quotes the
   * input: don't log it.
   */
  readonly read_as?: string;
  /** JSON path in a structured input, such as `$.arguments.body`; absent for a string. */
  readonly path?: string;
}

/** A window that the model scored. */
export interface ExplainedWindow {
  readonly span: Span;
  readonly probability: number;
  /** `raw`, or the kind of the decoded reading. */
  readonly view: ViewKind;
}

/** The model's part in the verdict. */
export interface ModelReport {
  /** Calibrated probability, 0..1; null when it gave none. */
  readonly score: number | null;
  readonly verdict: 'block' | 'allow' | 'off' | 'error';
  /** Whether it clears what the rules found; in `shadow` mode, whether it would. Absent in records of before 1.1. */
  readonly cleared?: boolean | undefined;
  /** The value that `hybrid` mode compares with the model's threshold: `score`, raised by the rules' weak findings. Since 1.1. */
  readonly combined?: number | null | undefined;
  readonly error: ModelErrorCode | null;
  /** Worst first. */
  readonly windows: readonly ExplainedWindow[];
  /** Places of the evidence that the model went by. */
  readonly hotspots: readonly Span[];
}

/** A part of the input that a limit kept from being read in some way. */
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
  /** Findings of experimental rules, which add nothing to the score. */
  readonly shadow_findings: readonly ExplainedFinding[];
  readonly unseen: readonly ExplainedUnseen[];
}

/** The extended verdict with everything behind it. */
export interface ExplainedVerdict extends Verdict {
  readonly explanation: Explanation;
}

/** Everything that one call found. */
export interface Evidence {
  readonly input: Subjected;
  readonly views: ViewSet;
  readonly signal: RulesSignal;
  readonly rules: RulesSide;
  readonly decision: Decision;
  /** Undefined when the model wasn't asked. */
  readonly model: { readonly texts: ModelTexts; readonly outcome: ModelAnswer } | undefined;
}

/** Explains a verdict; every span is mapped back to the text screened. */
export function explain(evidence: Evidence, limits: EngineLimits): Explanation {
  const { input, signal, rules, decision } = evidence;
  const explained = (findings: readonly Finding[]): readonly ExplainedFinding[] =>
    [...findings]
      .sort((a, b) => b.score - a.score || a.span.start - b.span.start)
      .slice(0, limits.findings)
      .map((finding) => explainFinding(finding, evidence, limits.excerptLength));
  return {
    text_length: input.text.length,
    channel: input.channel,
    router_level: decision.routerLevel,
    rules: { score: rules.score, threshold: rules.threshold, rule: rules.rule },
    model: reportModel(evidence),
    findings: explained(signal.findings),
    shadow_findings: explained(signal.shadow),
    unseen: [
      ...evidence.views.unseen.map(({ span, transform: by, limit }) => ({ span, by, limit })),
      ...unseenByModel(evidence),
    ],
  };
}

function explainFinding(finding: Finding, { input, views }: Evidence, length: number): ExplainedFinding {
  const path = input.pathOf(finding.span);
  // A view's chain is its own object.
  const view = views.views.find(({ kind, chain }) => kind === finding.view && chain === finding.chain);
  return {
    rule: finding.rule,
    severity: finding.severity,
    score: finding.score,
    span: finding.span,
    view: finding.view,
    chain: finding.chain,
    excerpt: cutExcerpt(input.text, finding.span, length),
    ...(view === undefined || view.kind === 'raw' ? {} : { read_as: cutExcerpt(view.text, finding.shown, length) }),
    ...(path === undefined ? {} : { path }),
  };
}

/** The span's text, cut on a code-point edge, with an ellipsis where it was cut. */
function cutExcerpt(text: string, span: Span, length: number): string {
  if (span.end - span.start <= length) return text.slice(span.start, span.end);
  return `${text.slice(span.start, edgeBefore(text, span.start + length))}…`;
}

function reportModel({ decision, model }: Evidence): ModelReport {
  const outcome = model?.outcome;
  const answer = outcome?.kind === 'answer' ? outcome.answer : undefined;
  return {
    score: decision.modelScore,
    verdict: decision.modelVerdict,
    cleared: decision.cleared,
    combined: decision.combined,
    error: outcome?.kind === 'error' ? outcome.code : null,
    windows: (answer?.windows ?? []).map((window) => ({
      span: inInput(window, model?.texts),
      probability: window.probability,
      view: model?.texts.readings[window.text]?.view ?? 'raw',
    })),
    hotspots: (answer?.hotspots ?? []).map((hotspot) => inInput(hotspot, model?.texts)),
  };
}

function inInput(part: TextSpan, texts: ModelTexts | undefined): Span {
  return texts?.readings[part.text]?.toInput(part.span) ?? part.span;
}

function unseenByModel({ model }: Evidence): readonly ExplainedUnseen[] {
  if (model?.outcome.kind !== 'answer') return [];
  const windows = model.outcome.answer.unseen.map((part) => ({
    span: inInput(part, model.texts),
    by: 'model',
    limit: 'modelWindows',
  }));
  const texts = model.texts.unseen.map(({ span, limit }) => ({ span, by: 'model', limit }));
  return [...windows, ...texts];
}
