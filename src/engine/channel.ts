/** Channels that a caller may name. A rule may be limited to some of them and `unknown`. */
export const CHANNELS = ['user', 'document', 'tool_result', 'tool_call', 'instructions'] as const;
export type KnownChannel = (typeof CHANNELS)[number];

/**
 * Origin of a text. `instructions`: whoever sets the agent up, in system prompts, tool definitions, skill and rule files.
 * `unknown`: the caller didn't say; rules limited to `user` run, too.
 */
export type Channel = KnownChannel | 'unknown';

/** Channels that a record or a row may have. */
export const ALL_CHANNELS: readonly [...typeof CHANNELS, 'unknown'] = [...CHANNELS, 'unknown'];

/** Channels whose texts a task helps to judge: data that came while the agent worked on it. */
export const TASK_CHANNELS: ReadonlySet<Channel | undefined> = new Set(['document', 'tool_result'] as const);

export function isChannel(value: unknown): value is Channel {
  return ALL_CHANNELS.some((channel) => channel === value);
}

/** Threshold of a model: a probability, 0..1, or the name of one of its operating points. */
export type ModelThreshold = number | string;
/** One threshold for every channel, or one by channel. A channel that is left out keeps its threshold, by default the model's own. */
export type ModelThresholds = ModelThreshold | Readonly<Partial<Record<Channel, ModelThreshold | undefined>>>;

export function thresholdOf(thresholds: ModelThresholds | undefined, channel: Channel): ModelThreshold | undefined {
  return typeof thresholds === 'object' ? thresholds[channel] : thresholds;
}

/** Puts thresholds on top of others: where both set a channel, the upper one counts. */
export function overlayThresholds(
  upper: ModelThresholds | undefined,
  lower: ModelThresholds | undefined,
): ModelThresholds | undefined {
  if (typeof upper !== 'object' || lower === undefined) return upper ?? lower;
  return { ...byChannel((channel) => thresholdOf(lower, channel)), ...upper };
}

export function byChannel<Value>(pick: (channel: Channel) => Value): Readonly<Record<Channel, Value>> {
  const entries = ALL_CHANNELS.map((channel) => [channel, pick(channel)]);
  return Object.fromEntries(entries) as Record<Channel, Value>;
}
