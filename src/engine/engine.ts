import type { Channel } from './channel.js';
import { decide, isFinal, type ModelOutcome, type RulesSide } from './decide.js';
import {
  describeEngine,
  type EngineInfo,
  type EngineSettings,
  isTimeout,
  type ResolvedSettings,
  resolveSettings,
} from './engine-settings.js';
import { ConfigError } from './errors.js';
import { type ExplainedVerdict, explain } from './explain.js';
import { cropTask, type Input, readInput, type Subjected } from './input.js';
import { orderedMap } from './limit.js';
import { type AskModel, createBreaker, type ModelAnswer } from './model/circuit-breaker.js';
import { HIDING_VIEWS, type ModelTexts, modelTexts } from './model/views.js';
import { checkOptions, type Known, unknownOptions } from './options.js';
import type { Classifier, ClassifierInfo, Clock } from './ports.js';
import type { CompiledPack, Paranoia, Rule, RulesSignal } from './rules/types.js';
import type { ViewSet } from './text/view.js';
import { buildViews } from './text/views.js';
import type { Mode, Verdict } from './verdict.js';
import { type WarmUpOptions, warmUpRules } from './warm-up.js';

/** The parts of an engine. */
export interface EngineParts extends EngineSettings {
  readonly pack: CompiledPack;
  readonly model?: Classifier | false | undefined;
  readonly clock: Clock;
  /** Reason for the mode, such as a model that is not installed; reported by `info`. */
  readonly modeReason?: string | undefined;
  /** Makes a new evidence id: `ev_` and 24 lower-case hex digits. */
  readonly newEvidenceId: () => string;
}

/** Options of a call by the rules. */
export interface ScanCallOptions {
  /** Origin of the text; default `tool_call` for `{ name, arguments }`, else `unknown`. */
  readonly channel?: Channel | undefined;
  /** Adds `explanation` to the verdict. */
  readonly explain?: boolean | undefined;
  /** Evidence id for the verdict; default a new one. */
  readonly evidenceId?: string | undefined;
  /** Rules above this level are left out. Default: the pack's. */
  readonly paranoia?: Paranoia | undefined;
}

/** Options of a call by rules and model. */
export interface AnalyzeOptions extends ScanCallOptions {
  /**
   * Task that the user gave the agent: evidence for the model, which may tell an order that serves it from one that doesn't. It
   * is no authority: it is not screened itself, and the rules don't read it. Of a longer one the last 4,000 characters count.
   */
  readonly task?: string | undefined;
  readonly mode?: Mode | undefined;
  readonly timeoutMs?: number | undefined;
  /** Tenant of the text, where several share an engine: response times reveal nothing about the texts of other tenants. */
  readonly tenant?: string | undefined;
}

/** Options of several calls. */
export interface AnalyzeManyOptions extends AnalyzeOptions {
  /** Inputs that are screened at once; default 4. */
  readonly concurrency?: number | undefined;
}

type Explained = { readonly explain: true };

/** Screens texts. Reusable; calls may overlap. */
export interface Engine {
  /** Screens an input. Never rejects because of what the text says or what the model does. @throws InputError; TypeError for an option that does not exist */
  analyze(input: Input, options: AnalyzeOptions & Explained): Promise<ExplainedVerdict>;
  analyze(input: Input, options?: AnalyzeOptions): Promise<Verdict>;
  /** Screens several inputs; yields the verdicts in their order. @throws as `analyze` */
  analyzeMany(
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: AnalyzeManyOptions,
  ): AsyncGenerator<Verdict | ExplainedVerdict, void, undefined>;
  /** Screens an input by the rules alone, synchronously: a verdict of mode `rules`. */
  scan(input: Input, options: ScanCallOptions & Explained): ExplainedVerdict;
  scan(input: Input, options?: ScanCallOptions): Verdict;
  readonly info: EngineInfo;
  /**
   * Makes the first call as fast as the next ones: loads the model and compiles the patterns, in slices of some milliseconds
   * that leave the event loop free. Rejects with a `ModelError` if the model fails to load, with a `ConfigError` if `share` is
   * out of range.
   */
  warmUp(options?: WarmUpOptions): Promise<void>;
  /** Closes the model; later calls are decided by the rules. */
  close(): Promise<void>;
}

const PARTS: Known<EngineParts> = {
  pack: true,
  model: true,
  mode: true,
  thresholds: true,
  timeoutMs: true,
  limits: true,
  clock: true,
  modeReason: true,
  newEvidenceId: true,
};
const SCAN_OPTIONS: Known<ScanCallOptions> = { channel: true, explain: true, evidenceId: true, paranoia: true };
const ANALYZE_OPTIONS: Known<AnalyzeOptions> = {
  ...SCAN_OPTIONS,
  task: true,
  mode: true,
  timeoutMs: true,
  tenant: true,
};
const MANY_OPTIONS: Known<AnalyzeManyOptions> = { ...ANALYZE_OPTIONS, concurrency: true };

interface Shared extends Pick<EngineParts, 'pack' | 'clock' | 'newEvidenceId'> {
  readonly settings: ResolvedSettings;
  readonly model: Classifier | undefined;
  readonly classify: AskModel | undefined;
  readonly rulesById: ReadonlyMap<string, Rule>;
}

/** Makes an engine. @throws ConfigError listing every invalid setting; TypeError for an option that does not exist */
export function createEngine(parts: EngineParts): Engine {
  const { pack, clock, newEvidenceId } = parts;
  const model = parts.model || undefined;
  if (model && !model.info)
    throw new TypeError('createEngine: `model` must be a classifier; loadModel() gives a promise of one, so await it');
  const settings = resolveSettings(parts, pack, model, unknownOptions('createEngine', parts, PARTS));
  const classify = model && createBreaker(model, clock, settings.limits.breaker);
  const rulesById = new Map(pack.rules.map((rule) => [rule.id, rule]));
  const shared: Shared = { pack, clock, newEvidenceId, settings, model, classify, rulesById };

  async function analyze(given: Input, options: AnalyzeOptions): Promise<Verdict> {
    const mode = options.mode ?? settings.mode;
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs;
    if (mode !== 'rules' && model === undefined) throw new ConfigError([`mode \`${mode}\` needs a model`]);
    if (!isTimeout(timeoutMs)) throw new ConfigError(['`timeoutMs` must be a positive number of milliseconds']);
    const reading = readByRules(shared, given, options);
    return conclude(shared, reading, mode, await askModel(shared, reading, mode, timeoutMs, options), options);
  }

  return {
    analyze: (async (input: Input, options: AnalyzeOptions = {}) => {
      checkOptions('analyze', options, ANALYZE_OPTIONS);
      return analyze(input, options);
    }) as Engine['analyze'],
    async *analyzeMany(inputs, options = {}) {
      checkOptions('analyzeMany', options, MANY_OPTIONS);
      yield* orderedMap(inputs, (input) => analyze(input, options), { items: options.concurrency ?? 4 });
    },
    scan: ((input: Input, options: ScanCallOptions = {}) => {
      checkOptions('scan', options, SCAN_OPTIONS);
      return conclude(shared, readByRules(shared, input, options), 'rules', undefined, options);
    }) as Engine['scan'],
    info: describeEngine(parts, settings),
    async warmUp(options = {}) {
      const scan = (text: string): unknown => readByRules(shared, text, {});
      const rest = await warmUpRules(pack, clock, scan, options);
      await Promise.all([settings.mode === 'rules' ? undefined : model?.warmUp(), rest()]);
    },
    async close() {
      await model?.close();
    },
  };
}

interface Reading {
  readonly input: Subjected;
  readonly views: ViewSet;
  readonly signal: RulesSignal;
  readonly rules: RulesSide;
  readonly start: number;
}

function readByRules({ pack, clock, settings, rulesById }: Shared, given: Input, options: ScanCallOptions): Reading {
  const start = clock.now();
  const input = readInput(given, options.channel);
  if (!Object.hasOwn(settings.channels, input.channel))
    throw new ConfigError([`\`channel\` must be one of ${Object.keys(settings.channels).join(', ')}`]);
  const views = buildViews(input.text);
  const signal = pack.scan(views.views, {
    channel: input.channel,
    paranoia: options.paranoia,
    exhaustive: options.explain,
  });
  const rule = signal.rule === undefined ? undefined : rulesById.get(signal.rule);
  const rules = {
    score: signal.score,
    threshold: settings.rulesThreshold,
    rule: signal.rule ?? null,
    reason: rule === undefined ? null : describeRule(rule),
    hidden: signal.findings.some(({ rule: id, view }) => HIDING_VIEWS.has(view) && signal.cluster.includes(id)),
  };
  return { input, views, signal, rules, start };
}

interface Asked {
  readonly texts: ModelTexts;
  readonly outcome: ModelAnswer;
}

/** Asks the model where its answer can matter; undefined where it can't. */
async function askModel(
  { classify, model, clock, settings: { limits } }: Shared,
  { input, views, rules, start }: Reading,
  mode: Mode,
  timeoutMs: number,
  { task, tenant }: AnalyzeOptions,
): Promise<Asked | undefined> {
  if (classify === undefined || mode === 'rules') return undefined;
  if (mode === 'hybrid' && isFinal(rules, clearsBelowIn(input.channel, model?.info))) return undefined;
  const texts = modelTexts(input.text, views.views, limits);
  const outcome = await classify(
    texts.readings.map(({ text }) => text),
    {
      timeoutMs: Math.max(1, timeoutMs - (clock.now() - start)),
      maxWindows: limits.modelWindows,
      derivedFrom: texts.derivedFrom,
      channel: input.channel,
      task: cropTask(task),
      tenant,
    },
  );
  return { texts, outcome };
}

function conclude(
  { pack, clock, newEvidenceId, settings, model }: Shared,
  reading: Reading,
  mode: Mode,
  asked: Asked | undefined,
  options: ScanCallOptions,
): Verdict {
  const { channel } = reading.input;
  const modelThreshold = settings.channels[channel].ml_threshold;
  const decision = decide(mode, reading.rules, toModelOutcome(asked, modelThreshold, channel, model?.info));
  const verdict: Verdict = {
    verdict: decision.verdict,
    confidence: decision.score,
    rule: decision.rule,
    reason: decision.reason,
    rules_version: pack.rulesVersion,
    evidence_id: options.evidenceId ?? newEvidenceId(),
    latency_ms: Math.max(0, Math.round(clock.now() - reading.start)),
    score: decision.score,
    threshold: decision.threshold,
    decided_by: decision.decidedBy,
    ml_version: mode === 'rules' || model === undefined ? 'off' : model.info.version,
    ml_threshold: modelThreshold,
    mode,
  };
  if (options.explain !== true) return verdict;
  return { ...verdict, explanation: explain({ ...reading, decision, model: asked }, settings.limits) } as Verdict;
}

/** Of models that do not name one: the weight of 1.0 (models/training/record/stacking.md). */
const RULES_WEIGHT = 6;

function clearsBelowIn(channel: Channel, info: ClassifierInfo | undefined): number {
  return info?.channelClearsBelow?.[channel] ?? info?.clearsBelow ?? 0;
}

function toModelOutcome(
  asked: Asked | undefined,
  threshold: number,
  channel: Channel,
  info: ClassifierInfo | undefined,
): ModelOutcome {
  if (asked === undefined) return { kind: 'off' };
  if (asked.outcome.kind === 'error') return { kind: 'error' };
  const { probability, windows, unseen, passes } = asked.outcome.answer;
  const isWhole = unseen.length === 0 && asked.texts.unseen.length === 0;
  return {
    kind: 'probability',
    probability,
    threshold,
    passes: passes ?? windows.length,
    clearsBelow: isWhole ? clearsBelowIn(channel, info) : 0,
    rulesWeight: info?.rulesWeight ?? RULES_WEIGHT,
  };
}

const DETECTS = /^Detects\s+/;
const FIRST_SENTENCE = /^.*?[.](?=\s|$)/s;

/** Makes one plain sentence from a rule's description; it never quotes the input. */
export function describeRule(rule: { readonly title: string; readonly description: string }): string {
  const sentence = (FIRST_SENTENCE.exec(rule.description.trim())?.[0] ?? rule.description.trim()).replace(/\s+/g, ' ');
  const text = DETECTS.test(sentence)
    ? sentence.replace(DETECTS, 'The text contains ')
    : `A rule fired: ${rule.title.trim()}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
