import type { Classifier, ClassifierAnswer, ClassifyOptions, Clock, ScoredWindow, TextSpan } from '../ports.js';
import { toProbability } from './calibration.js';
import { DEEP, type ModelManifest, type NetworkManifest } from './manifest.js';

export interface CascadeParts {
  /** Reads every window; the cascade has its version and thresholds. */
  readonly first: Classifier;
  /** Reads the windows that aren't English, too. */
  readonly deep: Classifier;
  /** Weight of the second network's log-odds in those windows, 0..1. */
  readonly share: number;
  readonly clock: Clock;
}

/** Opens the classifier that a manifest describes. @param open opens a network; its files' names begin with the prefix */
export async function openNetworks(
  manifest: ModelManifest,
  clock: Clock,
  open: (network: NetworkManifest, prefix: string) => Promise<Classifier>,
): Promise<Classifier> {
  const first = await open(manifest, '');
  if (manifest.deep === undefined) return first;
  return createCascade({ first, deep: await open(manifest.deep, DEEP), share: manifest.deep.share, clock });
}

/** A window of the first network takes two of the second where the latter's tokenizer cuts finer. */
const DEEP_WINDOWS = 2;

/**
 * A model of two networks: a small one reads every window, and in a window that isn't plainly English a larger one counts as well.
 * If the second network fails, the call fails: half a model gives no verdict.
 */
export function createCascade({ first, deep, share, clock }: CascadeParts): Classifier {
  async function classify(texts: readonly string[], options: ClassifyOptions): Promise<ClassifierAnswer> {
    const end = clock.now() + options.timeoutMs;
    const answer = await first.classify(texts, options);
    // In the order of the texts, so that decoded readings come last.
    const asked = answer.windows
      .filter((window) => !isEnglish(textOf(window, texts)))
      .sort((a, b) => a.text - b.text || a.span.start - b.span.start);
    if (asked.length === 0) return answer;
    const derivedFrom = asked.filter(({ text }) => text < (options.derivedFrom ?? texts.length)).length;
    const second = await deep.classify(
      asked.map((window) => textOf(window, texts)),
      {
        ...options,
        timeoutMs: Math.max(1, end - clock.now()),
        maxWindows: DEEP_WINDOWS * options.maxWindows,
        derivedFrom,
      },
    );
    return combine(answer, asked, second, share);
  }

  return {
    info: first.info,
    classify,
    async warmUp() {
      await Promise.all([first.warmUp(), deep.warmUp()]);
    },
    async close() {
      await Promise.all([first.close(), deep.close()]);
    },
  };
}

function textOf({ text, span }: TextSpan, texts: readonly string[]): string {
  return (texts[text] as string).slice(span.start, span.end);
}

/** The second answer's texts are the windows of `asked`. */
function combine(
  first: ClassifierAnswer,
  asked: readonly ScoredWindow[],
  second: ClassifierAnswer,
  share: number,
): ClassifierAnswer {
  const seconds = new Map<ScoredWindow, number>();
  for (const { text, probability } of second.windows) {
    const window = asked[text] as ScoredWindow;
    seconds.set(window, Math.max(probability, seconds.get(window) ?? 0));
  }
  const judged = first.windows
    .map((window) => {
      const other = seconds.get(window);
      const probability =
        other === undefined
          ? window.probability
          : toProbability((1 - share) * logOdds(window.probability) + share * logOdds(other));
      return { window, probability };
    })
    .sort((a, b) => b.probability - a.probability);
  const worst = judged[0]?.window as ScoredWindow;
  // Each network points into its own worst window only.
  let hotspots = worst === first.windows[0] ? first.hotspots : [];
  if (worst === asked[second.windows[0]?.text ?? 0]) hotspots = second.hotspots.map(({ span }) => shift(worst, span));
  return {
    probability: judged[0]?.probability as number,
    windows: judged.map(({ window, probability }) => ({ ...window, probability })),
    hotspots,
    unseen: first.unseen,
    passes: first.windows.length + second.windows.length,
  };
}

function shift({ text, span }: TextSpan, inside: TextSpan['span']): TextSpan {
  return { text, span: { start: span.start + inside.start, end: span.start + inside.end } };
}

/** Log-odds of a probability that a double holds as 0 or 1. */
const SUREST = 30;

function logOdds(probability: number): number {
  return Math.min(Math.max(Math.log(probability / (1 - probability)), -SUREST), SUREST);
}

/** English words that are frequent in any kind of text and rare in other languages with Latin letters (`was`, `will` and `on` are not). */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'the of and to is that for it you your with are this not by from have can if what but which any please should ' +
    'must when how all or they there would could than then them these those been were who out about more some other ' +
    'into only'
  ).split(' '),
);

/** Of the words, so many at least are common ones in English prose; in other languages hardly any are. */
const COMMON_SHARE = 0.08;
/** Of the letters, fewer are outside ASCII. */
const OTHER_LETTERS_SHARE = 0.05;

const WORDS = /\p{L}+/gu;

/**
 * Whether a text is plainly English. False for other languages, texts in two languages, romanised ones, and much that is no language,
 * such as code. True for a text without letters.
 */
export function isEnglish(text: string): boolean {
  const words = text.toLowerCase().match(WORDS) ?? [];
  let common = 0;
  let letters = 0;
  let others = 0;
  for (const word of words) {
    if (COMMON_WORDS.has(word)) common += 1;
    letters += word.length;
    for (let i = 0; i < word.length; i += 1) if (word.charCodeAt(i) > 0x7f) others += 1;
  }
  return common >= COMMON_SHARE * words.length && others <= OTHER_LETTERS_SHARE * letters;
}
