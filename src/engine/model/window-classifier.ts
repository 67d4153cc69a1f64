import { type Channel, TASK_CHANNELS } from '../channel.js';
import { ModelError } from '../errors.js';
import { orderedMap } from '../limit.js';
import type {
  Classifier,
  ClassifierAnswer,
  ClassifierInfo,
  ClassifyOptions,
  Clock,
  ScoredWindow,
  TextSpan,
  TokenizedText,
  Tokenizer,
  WindowInput,
  WindowScore,
  WindowScorer,
} from '../ports.js';
import { calibrate, tokenConfidence, windowLogits } from './calibration.js';
import type { Calibration, ChannelManifest, NetworkManifest } from './manifest.js';
import { planWindows, spread, type TokenWindow } from './windows.js';

export interface WindowClassifierParts {
  readonly info: ClassifierInfo;
  readonly manifest: NetworkManifest;
  readonly tokenizer: Tokenizer;
  readonly scorer: WindowScorer;
  readonly clock: Clock;
}

/** A window of one of the texts, by the text's index. */
interface PlannedWindow extends TokenWindow {
  readonly text: number;
}

interface Reading {
  readonly logit: number;
  readonly tokenConfidence: number;
  /** Tokens of the window. */
  readonly hotspot: TokenWindow | undefined;
}

interface Scored extends PlannedWindow {
  readonly reading: Reading;
}

/** A text that is read, and its tokens. */
interface ReadText extends TokenizedText {
  readonly length: number;
}

/** Parts shared by all windows of one call. */
interface Context extends Pick<ClassifyOptions, 'signal' | 'tenant'>, WindowClassifierParts {
  /** The latest readings, oldest first. */
  readonly remembered: Map<string, Reading>;
  readonly deadline: number;
  /** Id of the channel. */
  readonly channel: number;
  /** Tokens of the task. */
  readonly task: readonly number[];
}

/** Windows whose readings are remembered, the latest ones: at most 4 MB. */
const REMEMBERED = 2_000;

/**
 * A classifier that tokenises, cuts into windows and scores them one by one. A window that it has scored before, for the same
 * tenant, channel and task, is not scored again. The greatest probability of all texts counts; within a text the worst window does.
 */
export function createWindowClassifier(parts: WindowClassifierParts): Classifier {
  const { manifest, tokenizer, scorer, clock } = parts;
  const { content, stride } = manifest.window;
  const remembered = new Map<string, Reading>();

  async function classify(texts: readonly string[], options: ClassifyOptions): Promise<ClassifierAnswer> {
    const deadline = clock.now() + options.timeoutMs;
    const tokenized = texts.map((text): ReadText => ({ ...tokenizer.tokenize(text), length: text.length }));
    const plan = tokenized.flatMap(({ ids }, text) =>
      planWindows(ids.length, content, stride).map((window): PlannedWindow => ({ text, ...window })),
    );
    const chosen = new Set(chooseWindows(plan, texts.length, options.maxWindows));
    const channel = channelOf(options.channel, manifest);
    const { signal, tenant, derivedFrom = texts.length } = options;
    const task = taskIds(options, tokenizer, manifest);
    const context: Context = { ...parts, remembered, deadline, signal, tenant, channel: channel?.id ?? 0, task };
    const windows = plan.filter((_, index) => chosen.has(index));
    const scored = await scoreWindows(windows, tokenized, context);
    const left = plan.filter((_, index) => !chosen.has(index));
    return summarise(scored, left, tokenized, derivedFrom, channel?.calibration ?? manifest.calibration);
  }

  return {
    info: parts.info,
    classify,
    warmUp: () => scorer.warmUp(),
    async close() {
      remembered.clear();
      await scorer.close();
    },
  };
}

/** Scores windows, those that are not remembered by running the network. */
async function scoreWindows(
  windows: readonly PlannedWindow[],
  tokenized: readonly ReadText[],
  { scorer, manifest, clock, remembered, deadline, signal, tenant = '', channel, task }: Context,
): Promise<readonly Scored[]> {
  const keyed = windows.map((window) => {
    const ids = (tokenized[window.text] as ReadText).ids.slice(window.start, window.end);
    return { window, ids, key: `${channel};${task.join()};${ids.join()};${tenant}` };
  });
  const readings = new Map<string, Reading>();
  for (const { key } of keyed) {
    const reading = remembered.get(key);
    if (reading !== undefined) readings.set(key, reading);
  }
  const fresh = [...new Map(keyed.map(({ key, ids }) => [key, ids]))].filter(([key]) => !readings.has(key));
  const scoreOne = async ([key, ids]: (typeof fresh)[number]): Promise<readonly [string, Reading]> => {
    const timeoutMs = deadline - clock.now();
    if (signal.aborted || timeoutMs <= 0) {
      throw new ModelError('MODEL_TIMEOUT', 'the deadline passed before every window was scored');
    }
    const window = windowInput(ids, { channel, task }, manifest);
    return [key, read(await scorer.score(window, { timeoutMs, signal }), window)];
  };
  // As many at once as the scorer takes: with more, the windows of a long text would keep a short one waiting.
  for await (const [key, reading] of orderedMap(fresh, scoreOne, { items: scorer.parallel ?? 1 }))
    readings.set(key, reading);
  for (const [key, reading] of readings) {
    remembered.delete(key);
    remembered.set(key, reading);
    if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value as string);
  }
  return keyed.map(({ window, key }) => ({ ...window, reading: readings.get(key) as Reading }));
}

function channelOf(channel: Channel | undefined, { channels }: NetworkManifest): ChannelManifest | undefined {
  return channel === undefined || channel === 'unknown' ? undefined : channels?.[channel];
}

/** The tokens that a network reads of a task: its last ones; none where it reads no task, or the text is no data that a task asks for. */
function taskIds(
  { task, channel }: Pick<ClassifyOptions, 'task' | 'channel'>,
  tokenizer: Tokenizer,
  { task: read }: NetworkManifest,
): readonly number[] {
  if (task === undefined || read === undefined || !TASK_CHANNELS.has(channel)) return [];
  return tokenizer.tokenize(task).ids.slice(-read.tokens);
}

/** The window with the special tokens around it and, where there is one, the task behind it. */
function windowInput(
  window: readonly number[],
  { channel, task }: Pick<Context, 'channel' | 'task'>,
  { tokenizer: { cls, sep } }: NetworkManifest,
): WindowInput {
  const ids = [cls, ...window, sep];
  if (task.length === 0) return { ids, taskTokens: 0, channel };
  return { ids: [...ids, ...task, sep], taskTokens: task.length + 1, channel };
}

/** The whole text as one window, for texts that are known to be one. */
export function soleWindow(
  given: { readonly text: string; readonly channel?: Channel | undefined; readonly task?: string | undefined },
  tokenizer: Tokenizer,
  manifest: NetworkManifest,
): WindowInput {
  const context = { channel: channelOf(given.channel, manifest)?.id ?? 0, task: taskIds(given, tokenizer, manifest) };
  return windowInput(tokenizer.tokenize(given.text).ids, context, manifest);
}

/** The input's own windows first, as far as `max` goes; then those of the other readings. */
function chooseWindows(plan: readonly PlannedWindow[], texts: number, max: number): readonly number[] {
  const chosen: number[] = [];
  for (let text = 0; text < texts; text += 1) {
    const own = plan.flatMap((window, index) => (window.text === text ? [index] : []));
    // A hidden text behind a very long input still gets a window.
    const room = max - chosen.length - (texts - 1 - text);
    chosen.push(...spread(own.length, Math.max(1, room)).map((at) => own[at] as number));
  }
  return chosen.slice(0, Math.max(1, max));
}

/** @throws ModelError `MODEL_OUTPUT`: no quiet verdict from numbers that a broken network gave */
function read({ logit, tokenLogits }: WindowScore, { ids, taskTokens = 0 }: WindowInput): Reading {
  if (!Number.isFinite(logit)) throw new ModelError('MODEL_OUTPUT', 'the network returned a logit that is not finite');
  if (tokenLogits !== undefined && (tokenLogits.length !== ids.length || !tokenLogits.every(Number.isFinite))) {
    throw new ModelError('MODEL_OUTPUT', 'the network returned a token value that is not finite');
  }
  const hotspot = densestSpan(windowLogits(tokenLogits, taskTokens));
  return { logit, tokenConfidence: tokenConfidence(tokenLogits, taskTokens), hotspot };
}

function summarise(
  scored: readonly Scored[],
  left: readonly PlannedWindow[],
  tokenized: readonly ReadText[],
  derivedFrom: number,
  calibration: Calibration,
): ClassifierAnswer {
  const counts = tokenized.map((_, at) => scored.filter(({ text }) => text === at).length);
  const toSpan = (window: PlannedWindow): TextSpan => ({
    text: window.text,
    span: tokenSpan(tokenized[window.text] as ReadText, window),
  });
  const ranked = scored
    .map((window) => {
      const { text, reading } = window;
      const { logit, tokenConfidence } = reading;
      const place = { windows: counts[text] as number, derived: text >= derivedFrom, tokenConfidence };
      return { window, probability: calibrate(logit, place, calibration) };
    })
    .sort((a, b) => b.probability - a.probability);
  const worst = ranked[0];
  if (worst === undefined) throw new ModelError('MODEL_OUTPUT', 'no window was scored');
  return {
    probability: worst.probability,
    windows: ranked.map(({ window, probability }): ScoredWindow => ({ ...toSpan(window), probability })),
    hotspots: findHotspots(worst.window, tokenized),
    unseen: left.map(toSpan),
  };
}

function findHotspots(
  { text, start: first, reading: { hotspot } }: Scored,
  tokenized: readonly ReadText[],
): readonly TextSpan[] {
  if (hotspot === undefined) return [];
  const { starts, ends } = tokenized[text] as ReadText;
  const start = starts[first + hotspot.start] as number;
  return [{ text, span: { start, end: ends[first + hotspot.end - 1] as number } }];
}

/** From the end of the token before to the start of the token behind, so that windows cover every character. */
function tokenSpan(text: ReadText, window: TokenWindow): TextSpan['span'] {
  const start = window.start === 0 ? 0 : (text.ends[window.start - 1] as number);
  const end = window.end >= text.ids.length ? text.length : (text.starts[window.end] as number);
  return { start, end: Math.max(start, end) };
}

/** Tokens without a positive value that a stretch may step over. */
const BRIDGE = 6;

/**
 * The densest stretch of tokens that the token head holds for an attack: the run, over small gaps, with
 * the greatest sum of positive logits. Undefined where no token is positive. O(tokens).
 */
export function densestSpan(logits: readonly number[]): TokenWindow | undefined {
  let best: { start: number; end: number; sum: number } | undefined;
  let current: { start: number; end: number; sum: number } | undefined;
  logits.forEach((logit, index) => {
    if (!(logit > 0)) return;
    if (current !== undefined && index - current.end <= BRIDGE) {
      current = { start: current.start, end: index + 1, sum: current.sum + logit };
    } else {
      current = { start: index, end: index + 1, sum: logit };
    }
    if (best === undefined || current.sum > best.sum) best = current;
  });
  return best && { start: best.start, end: best.end };
}
