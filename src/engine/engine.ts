import type { Channel } from './channel.js';
import { type Decision, decide, isFinal, type ModelOutcome, type RulesSide } from './decide.js';
import {
  type ChannelThreshold,
  type EngineSettings,
  isTimeout,
  type ResolvedSettings,
  resolveSettings,
} from './engine-settings.js';
import { ConfigError } from './errors.js';
import { type ExplainedVerdict, explain } from './explain.js';
import { cropTask, type Input, readInput, type Subjected } from './input.js';
import { orderedMap } from './limit.js';
import { type GuardedAnswer, guardClassifier } from './model/guard.js';
import { HIDING_VIEWS, type ModelTexts, modelTexts } from './model/views.js';
import { checkOptions } from './options.js';
import type { Classifier, ClassifierInfo, Clock } from './ports.js';
import type { CompiledPack, PackInForce, Paranoia, Rule, RulesSignal } from './rules/types.js';
import type { ViewSet } from './text/view.js';
import { buildViews } from './text/views.js';
import type { Mode, Verdict } from './verdict.js';

/** The parts of an engine. */
export interface EngineParts extends EngineSettings {
  readonly pack: CompiledPack;
  readonly model?: Classifier | false | undefined;
  readonly clock: Clock;
  /** Stands in `info`: why the engine runs in its mode, e.g. why there is no model. */
  readonly modeReason?: string | undefined;
  /** A fresh `ev_` and 24 lower-case hex digits. */
  readonly newEvidenceId: () => string;
}

/** How one call is to be made. */
export interface ScanCallOptions {
  /** Whose words the text is; default `tool_call` for `{ name, arguments }`, else `unknown`. */
  readonly channel?: Channel | undefined;
  /** Adds `explanation` to the verdict. */
  readonly explain?: boolean | undefined;
  /** Stands in the verdict instead of a fresh one. */
  readonly evidenceId?: string | undefined;
  /** Rules above this level are left out. Default: the pack's. */
  readonly paranoia?: Paranoia | undefined;
}

/** How one call with the model's help is to be made. */
export interface AnalyzeOptions extends ScanCallOptions {
  /**
   * Task that the user gave the agent: evidence for the model, which may tell an order that serves it from one that doesn't. It
   * is no authority: it is not screened itself, and the rules don't read it. Of a longer one the last 4,000 characters count.
   */
  readonly task?: string | undefined;
  readonly mode?: Mode | undefined;
  readonly timeoutMs?: number | undefined;
  /** Whose text it is, where several share an engine: response times tell nothing of the texts of other tenants. */
  readonly tenant?: string | undefined;
}

/** A description of an engine's parts for operators. */
export interface EngineInfo {
  readonly mode: Mode;
  /** Why, where there is something to say: e.g. that no model is installed. */
  readonly mode_reason: string | null;
  readonly pack: string;
  /** The packs in force from the bottom up, with their rules. */
  readonly packs: readonly PackInForce[];
  readonly rules_version: string;
  /** How many rules the pack has. */
  readonly rules: number;
  /** BCP 47 tags that rules name, sorted. */
  readonly languages: readonly string[];
  readonly rules_threshold: number;
  readonly ml_version: string;
  /** Of a text of an unknown channel, as `operating_point`. */
  readonly ml_threshold: number;
  /** The model's operating point in force; null without a model, and where a threshold was given as a number. */
  readonly operating_point: string | null;
  /** Where the model blocks, by channel. */
  readonly channels: Readonly<Record<Channel, ChannelThreshold>>;
  /** Names that `thresholds.model` may take. */
  readonly operating_points: readonly string[];
  readonly timeout_ms: number;
  /** MiB that compiled patterns may take outside the JavaScript heap; null in browsers, where they take none. */
  readonly regex_memory_limit_mb: number | null;
  /** Estimate of their present use. */
  readonly regex_memory_mb: number | null;
}

type Explained = { readonly explain: true };

/** Screens texts. Reusable; calls may overlap. */
export interface Engine {
  /** Never rejects because of what the text says or what the model does. @throws InputError; TypeError for an option that does not exist */
  analyze(input: Input, options: AnalyzeOptions & Explained): Promise<ExplainedVerdict>;
  analyze(input: Input, options?: AnalyzeOptions): Promise<Verdict>;
  /** Verdicts in the order of the inputs, `concurrency` (default 4) of them under way at once. */
  analyzeMany(
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: AnalyzeOptions & { readonly concurrency?: number | undefined },
  ): AsyncGenerator<Verdict | ExplainedVerdict, void, undefined>;
  /** The rules alone, at once: a verdict of mode `rules`. */
  scan(input: Input, options: ScanCallOptions & Explained): ExplainedVerdict;
  scan(input: Input, options?: ScanCallOptions): Verdict;
  readonly info: EngineInfo;
  /**
   * Makes the first call as fast as the next ones: loads the model and compiles the patterns, in slices of some milliseconds
   * that leave the event loop free. Rejects with a `ModelError` when the model can't be had, with a `ConfigError` when `share` is
   * out of range.
   */
  warmUp(options?: WarmUpOptions): Promise<void>;
  /** Ends the model; calls after it are answered by the rules. */
  close(): Promise<void>;
}

/** How much a warm-up prepares. */
export interface WarmUpOptions {
  /**
   * `common`: the 200 likeliest patterns, 0.1 s of CPU time and 17 MB. `all` (default): every pattern, so that no later call
   * compiles one, but for a few that are slow to compile, and then a scan of benign texts, so that the code is optimised and
   * RE2's automata know ordinary words; 1.2 s and 150 MB, which a long-lived process comes to use anyway.
   */
  readonly patterns?: 'all' | 'common' | undefined;
  /**
   * Share of the time that compiling may take, above 0, at most 1 (default). At 0.1 each slice of four milliseconds is followed by
   * a pause of 36, so that calls meanwhile hardly wait.
   */
  readonly share?: number | undefined;
}

/** Milliseconds that a warm-up holds the event loop. */
const SLICE_MS = 4;
/** Texts that a full warm-up scans: the p99 of the next 1,600 texts of 1 kB falls by a quarter or more. */
const WARM_UP_TEXTS = 40;
/** Characters of each. */
const WARM_UP_LENGTH = 1000;

const PARTS = [
  'pack',
  'model',
  'mode',
  'thresholds',
  'timeoutMs',
  'limits',
  'clock',
  'modeReason',
  'newEvidenceId',
] as const satisfies readonly (keyof EngineParts)[];
const CALL_OPTIONS = [
  'channel',
  'task',
  'explain',
  'mode',
  'timeoutMs',
  'paranoia',
  'evidenceId',
  'tenant',
] as const satisfies readonly (keyof AnalyzeOptions)[];

interface Reading {
  readonly input: Subjected;
  readonly views: ViewSet;
  readonly signal: RulesSignal;
  readonly rules: RulesSide;
  readonly start: number;
}

/** Makes an engine. @throws ConfigError listing every invalid setting; TypeError for an option that does not exist */
export function createEngine(parts: EngineParts): Engine {
  checkOptions('createEngine', parts, PARTS);
  const { pack, clock } = parts;
  const model = parts.model || undefined;
  const settings = resolveSettings(parts, pack, model);
  const guarded = model && guardClassifier(model, clock, settings.limits.breaker);
  const rulesById = new Map(pack.rules.map((rule) => [rule.id, rule]));

  function read(given: Input, options: ScanCallOptions): Reading {
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

  function conclude(reading: Reading, mode: Mode, asked: Asked | undefined, options: ScanCallOptions): Verdict {
    const modelThreshold = settings.channels[reading.input.channel].ml_threshold;
    const decision = decide(
      mode,
      reading.rules,
      toModelOutcome(asked, modelThreshold, reading.input.channel, model?.info),
    );
    const verdict = buildVerdict(decision, modelThreshold, mode, reading.start, options);
    if (options.explain !== true) return verdict;
    return { ...verdict, explanation: explain({ ...reading, decision, model: asked }, settings.limits) } as Verdict;
  }

  function buildVerdict(
    decision: Decision,
    modelThreshold: number,
    mode: Mode,
    start: number,
    options: ScanCallOptions,
  ): Verdict {
    return {
      verdict: decision.verdict,
      confidence: decision.score,
      rule: decision.rule,
      reason: decision.reason,
      rules_version: pack.rulesVersion,
      evidence_id: options.evidenceId ?? parts.newEvidenceId(),
      latency_ms: Math.max(0, Math.round(clock.now() - start)),
      score: decision.score,
      threshold: decision.threshold,
      decided_by: decision.decidedBy,
      ml_version: mode === 'rules' || model === undefined ? 'off' : model.info.version,
      ml_threshold: modelThreshold,
      mode,
    };
  }

  async function ask(
    reading: Reading,
    mode: Mode,
    timeoutMs: number,
    { task, tenant }: AnalyzeOptions,
  ): Promise<Asked | undefined> {
    if (guarded === undefined || mode === 'rules') return undefined;
    if (mode === 'hybrid' && isFinal(reading.rules, clearsBelowIn(reading.input.channel, model?.info)))
      return undefined;
    const texts = modelTexts(reading.input.text, reading.views.views, settings.limits);
    const given = texts.readings.map(({ text }) => text);
    const left = Math.max(1, timeoutMs - (clock.now() - reading.start));
    return {
      texts,
      outcome: await guarded.ask(given, {
        timeoutMs: left,
        maxWindows: settings.limits.modelWindows,
        derivedFrom: texts.derivedFrom,
        channel: reading.input.channel,
        task: cropTask(task),
        tenant,
      }),
    };
  }

  /** Repeats work that goes on while it is told to and says when it is done; the event loop is free between the slices. */
  function inSlices(share: number, work: (shouldContinue: () => boolean) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const runSlice = (): void => {
        const end = clock.now() + SLICE_MS;
        try {
          if (work(() => clock.now() < end)) resolve();
          else clock.after(SLICE_MS * (1 / share - 1), runSlice);
        } catch (error) {
          reject(error);
        }
      };
      runSlice();
    });
  }

  async function warmUpAll(share: number): Promise<void> {
    await inSlices(share, (shouldContinue) => pack.warmUpRest?.(shouldContinue) ?? true);
    const texts = warmUpTexts(pack.rules);
    await inSlices(share, (shouldContinue) => {
      do {
        const { value, done } = texts.next();
        if (done === true) return true;
        read(value, {});
      } while (shouldContinue());
      return false;
    });
  }

  async function analyze(given: Input, options: AnalyzeOptions = {}): Promise<Verdict> {
    checkOptions('analyze', options, CALL_OPTIONS);
    const mode = options.mode ?? settings.mode;
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs;
    if (mode !== 'rules' && model === undefined) throw new ConfigError([`mode \`${mode}\` needs a model`]);
    if (!isTimeout(timeoutMs)) throw new ConfigError(['`timeoutMs` must be a positive number of milliseconds']);
    const reading = read(given, options);
    return conclude(reading, mode, await ask(reading, mode, timeoutMs, options), options);
  }

  return {
    analyze: analyze as Engine['analyze'],
    analyzeMany: (inputs, { concurrency = 4, ...options } = {}) =>
      orderedMap(inputs, (input) => analyze(input, options), { items: concurrency }),
    scan: ((input: Input, options: ScanCallOptions = {}) => {
      checkOptions('scan', options, CALL_OPTIONS);
      return conclude(read(input, options), 'rules', undefined, options);
    }) as Engine['scan'],
    info: describe(parts, settings),
    async warmUp(options = {}) {
      checkOptions('warmUp', options, ['patterns', 'share'] satisfies (keyof WarmUpOptions)[]);
      const { patterns = 'all', share = 1 } = options;
      if (!(share > 0 && share <= 1)) throw new ConfigError(['`share` must be above 0 and at most 1']);
      await inSlices(share, (shouldContinue) => pack.warmUp(shouldContinue));
      read('Please summarise the attached report.', {});
      await Promise.all([
        settings.mode === 'rules' ? undefined : model?.warmUp(),
        patterns === 'all' ? warmUpAll(share) : undefined,
      ]);
    },
    async close() {
      await model?.close();
    },
  };
}

/** The rules' own near misses, which are benign, put together to texts of an ordinary length. */
function* warmUpTexts(rules: readonly Rule[]): Generator<string, void, undefined> {
  let made = 0;
  let text = '';
  for (const { examples } of rules) {
    text += `${examples.negative[0]?.text ?? ''}\n\n`;
    if (text.length < WARM_UP_LENGTH) continue;
    yield text.slice(0, WARM_UP_LENGTH);
    made += 1;
    text = '';
    if (made === WARM_UP_TEXTS) return;
  }
}

function describe({ pack, modeReason, ...parts }: EngineParts, settings: ResolvedSettings): EngineInfo {
  const model = parts.model ? parts.model.info : undefined;
  return {
    mode: settings.mode,
    mode_reason: modeReason ?? null,
    pack: pack.name,
    packs: pack.packs,
    rules_version: pack.rulesVersion,
    rules: pack.rules.length,
    languages: [...new Set(pack.rules.flatMap((rule) => rule.languages))].sort(),
    rules_threshold: settings.rulesThreshold,
    ml_version: model?.version ?? 'off',
    ...settings.channels.unknown,
    channels: settings.channels,
    operating_points: Object.keys(model?.thresholds ?? {}),
    timeout_ms: settings.timeoutMs,
    regex_memory_limit_mb: pack.memory?.limitMb ?? null,
    get regex_memory_mb() {
      return pack.memory?.usedMb ?? null;
    },
  };
}

/** Of models that do not name one: the weight of 1.0 (models/training/record/stacking.md). */
const RULES_WEIGHT = 6;

interface Asked {
  readonly texts: ModelTexts;
  readonly outcome: GuardedAnswer;
}

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
  const isWhole = unseen.length === 0 && asked.texts.skipped.length === 0;
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

/** One plain sentence from a rule's own words, so that it never quotes the input. */
export function describeRule(rule: { readonly title: string; readonly description: string }): string {
  const sentence = (FIRST_SENTENCE.exec(rule.description.trim())?.[0] ?? rule.description.trim()).replace(/\s+/g, ' ');
  const text = DETECTS.test(sentence)
    ? sentence.replace(DETECTS, 'The text contains ')
    : `A rule fired: ${rule.title.trim()}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
