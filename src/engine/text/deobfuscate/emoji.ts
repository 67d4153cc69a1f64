import type { Replacement } from '../rewrite.js';

/** One emoji in a sentence is a mood. */
const MIN_RUNS = 2;

/**
 * Emoji with their modifiers between two words of a line, and the spaces around them. Not those that stand for letters (U+1F100 to U+1F1FF),
 * which the fold reads, nor the signs of trade and copyright.
 */
const RUN =
  /(?<=[\p{L}\p{M}\p{N}.,;:!?)"'] {0,2})(?:(?![\u{1F100}-\u{1F1FF}©®™])\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\ufe0f\u200d]{0,4} {0,2}){1,8}(?=[\p{L}\p{N}("'])/uy;
/** First code units of the emoji of `Features.emoji`. */
const FIRST = /[\u2600-\u27bf\ud83c-\ud83e]/g;

/** Takes out the emoji between words (`ignore 🔥all 😀previous`, `ignore👏all👏previous`). */
export function dropEmoji(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  let end = 0;
  for (const { index } of text.matchAll(FIRST)) {
    if (index < end) continue;
    RUN.lastIndex = index;
    const run = RUN.exec(text);
    if (run === null) continue;
    end = index + run[0].length;
    found.push({ start: index, end, text: ' ', transform: 'emoji' });
  }
  return found.length < MIN_RUNS ? [] : found;
}
