import { REVERSED } from '../deobfuscate/cipher-words.js';
import type { Draft } from '../draft.js';
import type { Features } from '../scan-features.js';
import { readCaesar } from './caesar.js';
import { reverseText } from './reversed.js';
import { reverseWords } from './reversed-words.js';
import type { WholeReading } from './whole-reading.js';

const MIN_REVERSED = 2;

/**
 * Readings that change the whole text, where its words show that they make sense. What was undone once is not done
 * again, nor what the text before showed as well.
 */
export function wholeReadings(text: string, features: Features, draft: Draft): readonly WholeReading[] {
  const { tags } = features;
  const { chain, before } = draft;
  const readings: WholeReading[] = [];
  if (tags !== undefined) {
    if (!chain.includes('rot13')) readings.push(...readCaesar(text, tags, before?.tags));
    if (isNew(REVERSED, tags, before?.tags) && !chain.includes('reversed')) {
      readings.push({ transform: 'reversed', make: () => reverseText(text) });
    }
  }
  if (features.backwardOrder && before?.backwardOrder !== true && !chain.includes('reversed-words')) {
    readings.push({ transform: 'reversed-words', make: () => reverseWords(text) });
  }
  return readings;
}

function isNew(tag: number, tags: Uint32Array, before: Uint32Array | undefined): boolean {
  const count = tags[tag] as number;
  return count >= MIN_REVERSED && count > (before?.[tag] ?? 0);
}
