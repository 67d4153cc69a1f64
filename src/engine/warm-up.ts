import { ConfigError } from './errors.js';
import { checkOptions } from './options.js';
import type { Clock } from './ports.js';
import type { CompiledPack, Rule } from './rules/types.js';

/** Options of a warm-up. */
export interface WarmUpOptions {
  /**
   * `common`: scans one text. `all` (default): compiles what no bundle holds (a millisecond for each pattern) and scans benign texts, so
   * that the code is optimised.
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
/** Texts that a full warm-up scans. All that the core pack gives, 22, take 0.2 s more and lower the p99 of the next 1,600 texts by 6 %. */
const WARM_UP_TEXTS = 10;
/** Length of each, in UTF-16 code units. */
const WARM_UP_LENGTH = 1000;

/**
 * Compiles the likeliest patterns and scans a first text. Resolves with a function that does the rest, where the options ask for it.
 *
 * @throws ConfigError for a `share` out of range; TypeError for an option that does not exist
 */
export async function warmUpRules(
  pack: CompiledPack,
  clock: Clock,
  scan: (text: string) => unknown,
  options: WarmUpOptions,
): Promise<() => Promise<void>> {
  checkOptions('warmUp', options, { patterns: true, share: true });
  const { patterns = 'all', share = 1 } = options;
  if (!(share > 0 && share <= 1)) throw new ConfigError(['`share` must be above 0 and at most 1']);
  scan('Please summarise the attached report.');
  return async () => {
    if (patterns !== 'all') return;
    await inSlices(clock, share, (shouldContinue) => pack.warmUp(shouldContinue));
    const texts = warmUpTexts(pack.rules);
    await inSlices(clock, share, (shouldContinue) => {
      do {
        const { value, done } = texts.next();
        if (done === true) return true;
        scan(value);
      } while (shouldContinue());
      return false;
    });
  };
}

/** Repeats `work`, which stops when told to and returns true once it is done; between the slices the event loop is free. */
function inSlices(clock: Clock, share: number, work: (shouldContinue: () => boolean) => boolean): Promise<void> {
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
