import type { Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { squeezeHyphenation } from './hyphenation.js';
import { squeezeJoinedWords } from './joined-words.js';
import { squeezeLeet } from './leet.js';
import { squeezeSpacedLetters } from './spaced-letters.js';
import { restoreWordGaps } from './word-gaps.js';

/** Asks the squeezers whose signs a text has; what they find may overlap. */
export function squeezeRuns(text: string, features: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  const add = (more: readonly Replacement[]): void => {
    for (const replacement of more) found.push(replacement);
  };
  if (features.singleRows.length > 0) add(squeezeSpacedLetters(text, features.singleRows));
  if (features.leetSpots.length > 0) add(squeezeLeet(text, features.leetSpots));
  if (features.longWords.length > 0) add(restoreWordGaps(text, features.longWords));
  if (features.joinedRows.length > 0) add(squeezeJoinedWords(text, features.joinedRows));
  if (features.brokenWords) add(squeezeHyphenation(text));
  return found;
}
