import { ModelError } from '../errors.js';
import { orderedMap } from '../ordered-map.js';
import type {
  AbortSignalLike,
  Classifier,
  ClassifierAnswer,
  ClassifierInfo,
  ClassifyOptions,
  Clock,
  ScoredWindow,
  TextSpan,
  TokenizedText,
  Tokenizer,
  WindowScore,
  WindowScorer,
} from '../ports.js';
import { calibrate, tokenConfidence } from './calibration.js';
import type { Calibration, NetworkManifest } from './manifest.js';
import { planWindows, spread, type TokenWindow } from './windows.js';

/** What a classifier over windows is made of. */
export interface WindowClassifierParts {
  readonly info: ClassifierInfo;
  readonly manifest: NetworkManifest;
  readonly tokenizer: Tokenizer;
  readonly scorer: WindowScorer;
  readonly clock: Clock;
}

interface PlannedWindow extends TokenWindow {
  readonly text: number;
}

interface Scored {
  readonly planned: PlannedWindow;
  readonly score: WindowScore;
}

/**
 * A classifier that tokenises, cuts into windows and scores them one by one, identical ones once.
 * The greatest probability of all texts counts; within a text the worst window does.
 */
export function createWindowClassifier(parts: WindowClassifierParts): Classifier {
  const { manifest, tokenizer, scorer } = parts;
  const { content, stride } = manifest.window;

  async function classify(texts: readonly string[], options: ClassifyOptions): Promise<ClassifierAnswer> {
    const deadline = parts.clock.now() + options.timeoutMs;
    const tokenized = texts.map((text) => tokenizer.tokenize(text));
    const plan = tokenized.flatMap(({ ids }, text) =>
      planWindows(ids.length, content, stride).map((window): PlannedWindow => ({ text, ...window })),
    );
    const chosen = new Set(chooseWindows(plan, texts.length, options.maxWindows));
    const scored = await scoreWindows(
      plan.filter((_, index) => chosen.has(index)),
      tokenized,
      deadline,
      options.signal,
    );
    const left = plan.filter((_, index) => !chosen.has(index));
    const derivedFrom = options.derivedFrom ?? texts.length;
    return summarise(scored, left, tokenized, texts, { calibration: manifest.calibration, derivedFrom });
  }

  async function scoreWindows(
    windows: readonly PlannedWindow[],
    tokenized: readonly TokenizedText[],
    deadline: number,
    signal: AbortSignalLike,
  ): Promise<readonly Scored[]> {
    const keyed = windows.map((planned) => {
      const ids = (tokenized[planned.text] as TokenizedText).ids.slice(planned.start, planned.end);
      return { planned, ids, key: ids.join() };
    });
    const distinct = [...new Map(keyed.map((window) => [window.key, window.ids]))];
    const scoreOne = async ([key, ids]: (typeof distinct)[number]): Promise<readonly [string, WindowScore]> => {
      const timeoutMs = deadline - parts.clock.now();
      if (signal.aborted || timeoutMs <= 0) {
        throw new ModelError('MODEL_TIMEOUT', 'the deadline passed before every window was scored');
      }
      const score = await scorer.score([manifest.tokenizer.cls, ...ids, manifest.tokenizer.sep], { timeoutMs, signal });
      checkScore(score, ids.length + 2);
      return [key, score];
    };
    // As many at once as the scorer takes: with more, the windows of a long text would keep a short one waiting.
    const scores = new Map<string, WindowScore>();
    for await (const [key, score] of orderedMap(distinct, scoreOne, { items: scorer.parallel ?? 1 }))
      scores.set(key, score);
    return keyed.map(({ planned, key }) => ({ planned, score: scores.get(key) as WindowScore }));
  }

  return { info: parts.info, classify, warmUp: () => scorer.warmUp(), close: () => scorer.close() };
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

/** No quiet verdict from numbers that a broken network gave. */
function checkScore(score: WindowScore, tokens: number): void {
  const { logit, tokenLogits } = score;
  if (!Number.isFinite(logit)) throw new ModelError('MODEL_OUTPUT', 'the network returned a logit that is not finite');
  if (tokenLogits === undefined) return;
  if (tokenLogits.length !== tokens || !tokenLogits.every(Number.isFinite)) {
    throw new ModelError('MODEL_OUTPUT', 'the network returned a token value that is not finite');
  }
}

function summarise(
  scored: readonly Scored[],
  left: readonly PlannedWindow[],
  tokenized: readonly TokenizedText[],
  texts: readonly string[],
  { calibration, derivedFrom }: { readonly calibration: Calibration; readonly derivedFrom: number },
): ClassifierAnswer {
  const counts = tokenized.map((_, text) => scored.filter(({ planned }) => planned.text === text).length);
  const toSpan = (window: PlannedWindow): TextSpan => ({
    text: window.text,
    span: tokenSpan(tokenized[window.text] as TokenizedText, window, (texts[window.text] as string).length),
  });
  const ranked = scored
    .map(({ planned, score }) => ({
      planned,
      score,
      probability: calibrate(
        score.logit,
        {
          windows: counts[planned.text] as number,
          derived: planned.text >= derivedFrom,
          tokenConfidence: tokenConfidence(score.tokenLogits),
        },
        calibration,
      ),
    }))
    .sort((a, b) => b.probability - a.probability);
  const worst = ranked[0];
  if (worst === undefined) throw new ModelError('MODEL_OUTPUT', 'no window was scored');
  return {
    probability: worst.probability,
    windows: ranked.map(({ planned, probability }): ScoredWindow => ({ ...toSpan(planned), probability })),
    hotspots: findHotspots(worst.planned, worst.score, tokenized),
    unseen: left.map(toSpan),
  };
}

function findHotspots(
  window: PlannedWindow,
  score: WindowScore,
  tokenized: readonly TokenizedText[],
): readonly TextSpan[] {
  // The first and last values belong to the special tokens.
  const stretch = densestSpan(score.tokenLogits?.slice(1, -1) ?? []);
  if (stretch === undefined) return [];
  const { starts, ends } = tokenized[window.text] as TokenizedText;
  const start = starts[window.start + stretch.start] as number;
  const end = ends[window.start + stretch.end - 1] as number;
  return [{ text: window.text, span: { start, end } }];
}

/** From the end of the token before to the start of the token behind, so that windows cover every character. */
function tokenSpan(text: TokenizedText, window: TokenWindow, length: number): TextSpan['span'] {
  const start = window.start === 0 ? 0 : (text.ends[window.start - 1] as number);
  const end = window.end >= text.ids.length ? length : (text.starts[window.end] as number);
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
