import {
  byChannel,
  CHANNELS,
  type Channel,
  type ModelThreshold,
  type ModelThresholds,
  overlayThresholds,
  thresholdOf,
} from './channel.js';
import { ConfigError } from './errors.js';
import { DEFAULT_LIMITS, DEFAULT_TIMEOUT_MS, type EngineLimits } from './limits.js';
import { unknownOptions } from './options.js';
import type { Classifier } from './ports.js';
import type { CompiledPack, PackInForce } from './rules/types.js';
import type { Mode } from './verdict.js';

/** Thresholds that replace those of the pack, its overlays and the model. */
export interface Thresholds {
  /** Rules block at or above it, 0..1. */
  readonly rules?: number | undefined;
  /** The model blocks at or above it: 0..1, or the name of an operating point of the model; for all channels, or by channel. */
  readonly model?: ModelThresholds | undefined;
}

/** Settings of an engine; what is left out has its default. */
export interface EngineSettings {
  /** `hybrid` with a model and `rules` without one, unless given. */
  readonly mode?: Mode | undefined;
  readonly thresholds?: Thresholds | undefined;
  /** Milliseconds a call may take before the rules answer alone; default 15,000. */
  readonly timeoutMs?: number | undefined;
  readonly limits?: Partial<EngineLimits> | undefined;
}

/** The model's threshold for texts of one channel. */
export interface ChannelThreshold {
  readonly ml_threshold: number;
  /** The model's operating point in force; null without a model, and where the threshold was given as a number. */
  readonly operating_point: string | null;
}

/** Settings with every default filled in and checked. */
export interface ResolvedSettings {
  readonly mode: Mode;
  readonly rulesThreshold: number;
  readonly channels: Readonly<Record<Channel, ChannelThreshold>>;
  readonly timeoutMs: number;
  readonly limits: EngineLimits;
}

/** `ml_threshold` where no model is configured and no threshold is given. */
const THRESHOLD_WITHOUT_MODEL = 0.5;

/**
 * Fills in the defaults. `unknown`: mistakes found before, in the names of options.
 *
 * @throws ConfigError listing every invalid setting; TypeError where an option does not exist, listing those and the invalid ones
 */
export function resolveSettings(
  settings: EngineSettings,
  pack: { readonly threshold: number; readonly modelThreshold?: ModelThresholds | undefined },
  model: Classifier | undefined,
  unknown: readonly string[] = [],
): ResolvedSettings {
  const issues: string[] = [];
  const mode = settings.mode ?? (model === undefined ? 'rules' : 'hybrid');
  if (mode !== 'rules' && mode !== 'hybrid' && mode !== 'shadow') {
    issues.push('`mode` must be `rules`, `hybrid` or `shadow`');
  } else if (mode !== 'rules' && model === undefined) {
    issues.push(`mode \`${mode}\` needs a model`);
  }
  const rulesThreshold = settings.thresholds?.rules ?? pack.threshold;
  if (!isUnit(rulesThreshold)) issues.push('`thresholds.rules` must be a number from 0 to 1');
  const given = overlayThresholds(settings.thresholds?.model, pack.modelThreshold);
  for (const name of Object.keys(typeof given === 'object' ? given : {}))
    if (name !== 'unknown' && !CHANNELS.some((channel) => channel === name))
      issues.push(`\`thresholds.model\` names no channel: \`${name}\``);
  const channels = byChannel((channel) => resolveChannel(channel, thresholdOf(given, channel), model, issues));
  const timeoutMs = settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  if (!isTimeout(timeoutMs)) issues.push('`timeoutMs` must be a positive number of milliseconds below 2^31');
  const limits = { ...DEFAULT_LIMITS, ...settings.limits };
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === 'number' && !(value >= 0)) issues.push(`\`limits.${name}\` must be 0 or more`);
  }
  const names = [
    ...unknown,
    ...unknownOptions('thresholds', settings.thresholds, { rules: true, model: true }),
    ...unknownOptions('limits', settings.limits, DEFAULT_LIMITS),
  ];
  if (names.length > 0) throw new TypeError([...names, ...new Set(issues)].join('; '));
  if (issues.length > 0) throw new ConfigError([...new Set(issues)]);
  return { mode, rulesThreshold, channels, timeoutMs, limits };
}

/** Whether a timer can wait this number of milliseconds. */
export function isTimeout(value: number): boolean {
  return value > 0 && value < 2 ** 31;
}

function resolveChannel(
  channel: Channel,
  given: ModelThreshold | undefined,
  model: Classifier | undefined,
  issues: string[],
): ChannelThreshold {
  if (typeof given === 'number') {
    if (!isUnit(given)) issues.push('`thresholds.model` must be a number from 0 to 1');
    return { ml_threshold: given, operating_point: null };
  }
  if (model === undefined) return { ml_threshold: THRESHOLD_WITHOUT_MODEL, operating_point: null };
  const { thresholds, channelThresholds, defaultOperatingPoint } = model.info;
  const known = channelThresholds?.[channel] ?? thresholds;
  const point = given ?? defaultOperatingPoint;
  const threshold = Object.hasOwn(known, point) ? known[point] : undefined;
  if (threshold === undefined || !isUnit(threshold))
    issues.push(`the model has no operating point \`${point}\`; it has ${Object.keys(known).join(', ') || 'none'}`);
  return { ml_threshold: threshold ?? THRESHOLD_WITHOUT_MODEL, operating_point: point };
}

function isUnit(value: number): boolean {
  return value >= 0 && value <= 1;
}

/** A description of an engine's parts for operators. */
export interface EngineInfo {
  readonly mode: Mode;
  /** Reason for the mode, such as a model that is not installed; null where there is nothing to explain. */
  readonly mode_reason: string | null;
  readonly pack: string;
  /** The packs in force from the bottom up, with their rules. */
  readonly packs: readonly PackInForce[];
  readonly rules_version: string;
  /** Number of rules in the pack. */
  readonly rules: number;
  /** BCP 47 tags that rules name, sorted. */
  readonly languages: readonly string[];
  readonly rules_threshold: number;
  readonly ml_version: string;
  /** For texts of an unknown channel, as `operating_point`. */
  readonly ml_threshold: number;
  /** The model's operating point in force; null without a model, and where a threshold was given as a number. */
  readonly operating_point: string | null;
  /** Thresholds of the model by channel. */
  readonly channels: Readonly<Record<Channel, ChannelThreshold>>;
  /** Names that `thresholds.model` may take. */
  readonly operating_points: readonly string[];
  readonly timeout_ms: number;
}

export function describeEngine(
  {
    pack,
    model: classifier,
    modeReason,
  }: {
    readonly pack: CompiledPack;
    readonly model?: Classifier | false | undefined;
    readonly modeReason?: string | undefined;
  },
  settings: ResolvedSettings,
): EngineInfo {
  const model = classifier ? classifier.info : undefined;
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
  };
}
