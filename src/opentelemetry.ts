/** Spans and metrics of a guard or an engine. Uses `@opentelemetry/api` alone: without an SDK of the application it does nothing. */
import {
  type Attributes,
  type Counter,
  context,
  type Histogram,
  metrics,
  propagation,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { packageVersion } from './adapters/package-version.js';
import type { Channel } from './engine/channel.js';
import { InputError } from './engine/errors.js';
import { type Input, inputText, toJsonText } from './engine/input.js';
import { factsOf } from './policy/facts.js';
import type { Guard } from './policy/guard.js';
import { type Decision, type GuardEvent, type Point, PortcullisBlocked, type ScreenCall } from './policy/policy.js';
import { type Analyzer, toScreened } from './policy/screener.js';

const NAME = 'portcullis';
/** Kinds of text, by the names that other guardrails report them under. */
const TARGETS: Readonly<Record<Point | Channel, string>> = {
  user: 'llm_input',
  tool_call: 'tool_call',
  tool_result: 'tool_output',
  document: 'knowledge_result',
  tool_definition: 'tool_definition',
  output: 'llm_output',
  instructions: 'instructions',
  unknown: 'unknown',
};

const DECISIONS: Readonly<Record<GuardEvent['action'], string>> = {
  allow: 'allow',
  report: 'warn',
  redact: 'modify',
  ask: 'escalate',
  refuse: 'deny',
  deny: 'deny',
  throw: 'deny',
  replace: 'deny',
  stop: 'deny',
  hide: 'deny',
};

/** Bounds of the buckets, seconds: the rules take a tenth of a millisecond, a late model seconds. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Facts = ReturnType<typeof factsOf>;

/** One screening as it is told to a span. */
interface ScreeningSpan {
  readonly span: Span;
  readonly source: Point | Channel;
  /** Milliseconds; the pauses of a stream move it on. */
  started: number;
  /** Of what was screened last; undefined where nothing was. */
  facts?: Facts | undefined;
}

interface Telemetry {
  readonly tracer: Tracer;
  readonly duration: Histogram;
  readonly blocks: Counter;
  readonly fallbacks: Counter;
  readonly cacheHits: Counter;
  readonly capturesContent: boolean;
}

/**
 * Makes a guard, an engine or a client that tells OpenTelemetry of each `screen`, `analyze` and streamed output: a span
 * `apply_guardrail`, a child of the active one, with an event for each finding, and metrics. Start the SDK first: metrics recorded before that are lost. While a span
 * is recorded, the analyzer is asked to explain. Instrument a guard or its engine, not both: each call would count twice.
 *
 * Texts are recorded only where `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `true`, `SPAN_ONLY` or `SPAN_AND_EVENT`.
 *
 * @example
 * ```ts
 * const guard = instrument(createGuard());
 * ```
 */
export function instrument<T extends Guard | Analyzer>(target: T): T {
  const telemetry = openTelemetry();
  const methods =
    'screen' in target
      ? { screen: instrumentScreen(telemetry, target), outputStream: instrumentStream(telemetry, target) }
      : { analyze: instrumentAnalyze(telemetry, target) };
  return Object.assign(Object.create(target) as T, methods);
}

/** A `fetch` for `createClient` that sends the active span as `traceparent`, so that the service continues the trace. */
export function fetchInTrace(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  propagation.inject(context.active(), headers, { set: (carrier, key, value) => carrier.set(key, value) });
  return fetch(input, { ...init, headers });
}

function openTelemetry(): Telemetry {
  const version = packageVersion();
  const meter = metrics.getMeter(NAME, version);
  const capture = process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() ?? '';
  return {
    tracer: trace.getTracer(NAME, version),
    duration: meter.createHistogram('portcullis.guardrail.duration', {
      description: 'Time of a screening.',
      unit: 's',
      advice: { explicitBucketBoundaries: BUCKETS },
    }),
    blocks: meter.createCounter('portcullis.guardrail.blocks', { description: 'Texts that the verdict blocks.' }),
    fallbacks: meter.createCounter('portcullis.guardrail.fallbacks', {
      description: 'Verdicts of the rules because the model failed or was late.',
    }),
    cacheHits: meter.createCounter('portcullis.guardrail.cache_hits', { description: 'Verdicts from the cache.' }),
    capturesContent: ['true', 'span_only', 'span_and_event'].includes(capture),
  };
}

function instrumentScreen(telemetry: Telemetry, guard: Guard): Guard['screen'] {
  return <T>(point: Point, value: T, call: ScreenCall = {}): Promise<Decision<T>> =>
    inSpan(telemetry, point, call.tool, async (screening) => {
      const { span } = screening;
      const report = (event: GuardEvent): void => {
        call.report?.(event);
        // A task that isn't allowed is reported as `user` before.
        if (event.point === point) screening.facts = event;
        addEvent(span, event);
      };
      const explain = call.explain || span.isRecording();
      const decision = await guard.screen(point, value, { ...call, explain, report });
      if (telemetry.capturesContent) {
        setContent(span, 'input', value as Input);
        if (decision.action === 'redact') setContent(span, 'output', decision.value as Input);
      }
      return { result: decision, action: decision.action };
    });
}

/** One span for each whole text, until `end` or the first piece that fails; one that is never ended is never exported. */
function instrumentStream(telemetry: Telemetry, guard: Guard): Guard['outputStream'] {
  return (call = {}) => {
    const report = (event: GuardEvent): void => {
      call.report?.(event);
      addEvent(text.span, event);
      // A way out that is only reported does not hide one that was cut before.
      if (event.action === 'report' && text.action !== 'allow') return;
      text.action = event.action;
      text.facts = event;
    };
    const stream = guard.outputStream({ ...call, report });
    let text = startText(telemetry, call.tool);

    function finish(error?: unknown): void {
      if (text.isOver) return;
      text.isOver = true;
      if (telemetry.capturesContent) {
        setContent(text.span, 'input', text.written);
        if (text.action === 'redact') setContent(text.span, 'output', text.shown);
      }
      if (error === undefined) conclude(telemetry, text, DECISIONS[text.action]);
      else conclude(telemetry, text, undefined, errorName(error));
    }

    async function show(next: () => Promise<string>): Promise<string> {
      text.started += performance.now() - text.pausedAt;
      try {
        const piece = await context.with(trace.setSpan(context.active(), text.span), next);
        if (telemetry.capturesContent) text.shown += piece;
        return piece;
      } catch (error) {
        finish(error);
        throw error;
      } finally {
        text.pausedAt = performance.now();
      }
    }

    return {
      write(piece) {
        if (text.hasEnded) text = startText(telemetry, call.tool);
        if (telemetry.capturesContent) text.written += piece;
        return show(() => stream.write(piece));
      },
      async end(isSigned) {
        const rest = await show(() => stream.end(isSigned));
        finish();
        text.hasEnded = true;
        return rest;
      },
    };
  };
}

/** Starts the span of a text of a stream. */
function startText(telemetry: Telemetry, tool: string | undefined) {
  const screening = startSpan(telemetry, 'output', tool);
  const action = 'allow' as GuardEvent['action'];
  return { ...screening, action, pausedAt: screening.started, isOver: false, hasEnded: false, written: '', shown: '' };
}

function instrumentAnalyze(telemetry: Telemetry, analyzer: Analyzer): Analyzer['analyze'] {
  return async (given, options = {}) => {
    const input = typeof given === 'string' ? given : toJsonText(given);
    const source = options.channel ?? (typeof input !== 'string' && input.isToolCall ? 'tool_call' : 'unknown');
    return inSpan(telemetry, source, undefined, async (screening) => {
      const isRecorded = screening.span.isRecording();
      const said = await analyzer.analyze(input, { ...options, explain: options.explain || isRecorded });
      const screened = toScreened(said);
      const { verdict } = screened;
      screening.facts = factsOf({ ...screened, cached: false });
      if (isRecorded) addFindings(screening.span, screening.facts);
      if (telemetry.capturesContent) setContent(screening.span, 'input', input);
      return { result: options.explain ? said : verdict, action: verdict.verdict === 'block' ? 'deny' : 'allow' };
    });
  };
}

function startSpan(telemetry: Telemetry, source: Point | Channel, tool: string | undefined): ScreeningSpan {
  const span = telemetry.tracer.startSpan(`apply_guardrail ${NAME}`, {
    attributes: {
      'gen_ai.operation.name': 'apply_guardrail',
      'gen_ai.provider.name': NAME,
      'gen_ai.guardrail.component.name': NAME,
      'gen_ai.guardrail.source': source,
      'gen_ai.guardian.name': NAME,
      'gen_ai.security.target.type': TARGETS[source],
      ...(tool === undefined ? {} : { 'gen_ai.tool.name': tool }),
    },
  });
  return { span, source, started: performance.now() };
}

async function inSpan<R>(
  telemetry: Telemetry,
  source: Point | Channel,
  tool: string | undefined,
  work: (screening: ScreeningSpan) => Promise<{ readonly result: R; readonly action: Decision<unknown>['action'] }>,
): Promise<R> {
  const screening = startSpan(telemetry, source, tool);
  const active = trace.setSpan(context.active(), screening.span);
  try {
    const { result, action } = await context.with(active, work, undefined, screening);
    conclude(telemetry, screening, DECISIONS[action]);
    return result;
  } catch (error) {
    const isBlocked = error instanceof PortcullisBlocked;
    conclude(telemetry, screening, isBlocked ? 'deny' : undefined, isBlocked ? undefined : errorName(error));
    throw error;
  }
}

function conclude(telemetry: Telemetry, screening: ScreeningSpan, decision: string | undefined, error?: string): void {
  const { span, source, started, facts } = screening;
  // `timeout` or `error`, where the guard's policy decided without a verdict.
  const failure = error ?? (facts?.verdict === 'error' ? facts.cause : undefined);
  const counted: Attributes = {
    'gen_ai.security.target.type': TARGETS[source],
    ...(decision === undefined ? {} : { 'gen_ai.security.decision.type': decision }),
    ...(failure === undefined ? {} : { 'error.type': failure }),
  };
  telemetry.duration.record((performance.now() - started) / 1000, counted);
  if (facts?.verdict === 'block') telemetry.blocks.add(1, counted);
  if (facts?.decidedBy === 'ml-error-rules-fallback') telemetry.fallbacks.add(1, counted);
  if (facts?.cached) telemetry.cacheHits.add(1, counted);
  if (span.isRecording()) {
    span.setAttributes(counted);
    if (facts !== undefined) span.setAttributes(attributesOf(facts));
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function attributesOf(facts: Facts): Attributes {
  const { rulesVersion, mlVersion, reason, rule, score } = facts;
  return {
    'gen_ai.guardrail.result.type': 'verdict',
    'gen_ai.guardrail.result.value': facts.verdict,
    ...(reason === null ? {} : { 'gen_ai.guardrail.result.reason': reason }),
    ...(rule === 'none' ? {} : { 'gen_ai.guardrail.policy.rule.id': rule }),
    ...(score === null ? {} : { 'gen_ai.guardrail.risk.score': score }),
    ...(rulesVersion === null ? {} : { 'gen_ai.guardian.version': `rules ${rulesVersion}, model ${mlVersion}` }),
    ...(facts.decidedBy === null ? {} : { 'portcullis.decided_by': facts.decidedBy }),
    'portcullis.evidence_id': facts.evidenceId,
    'portcullis.cached': facts.cached,
  };
}

function addEvent(span: Span, event: GuardEvent): void {
  if (!span.isRecording()) return;
  span.setAttribute('portcullis.run_id', event.runId);
  addFindings(span, event);
}

/** An event for each finding of the rules, and one where the model blocked. */
function addFindings(span: Span, { findings, rule, score }: Facts): void {
  for (const finding of findings) addFinding(span, finding.rule, finding.score, finding.severity);
  if (rule === 'ml.classifier' && score !== null) addFinding(span, rule, score);
}

function addFinding(span: Span, rule: string, score: number, severity?: string): void {
  span.addEvent('gen_ai.guardrail.result', {
    'gen_ai.guardrail.risk.category': 'prompt_injection',
    'gen_ai.guardrail.risk.score': score,
    'gen_ai.guardrail.policy.rule.id': rule,
    ...(severity === undefined
      ? {}
      : { 'gen_ai.guardrail.result.type': 'severity', 'gen_ai.guardrail.result.value': severity }),
  });
}

/** A value that has no JSON text, such as a stream, is left out. */
function setContent(span: Span, side: 'input' | 'output', value: Input): void {
  if (!span.isRecording()) return;
  try {
    span.setAttribute(`gen_ai.guardrail.content.${side}.value`, inputText(value));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}
