import { REVERSED } from '../cipher-words.js';
import type { Features } from '../scan-features.js';
import { readCaesar } from './caesar.js';
import { reverseText } from './reversed.js';
import { reverseWords } from './reversed-words.js';
import type { WholeReading } from './whole-reading.js';

const MIN_REVERSED = 2;

/** Readings that change the whole text, where its words show that they make sense. */
export function wholeReadings(text: string, features: Features): readonly WholeReading[] {
  const readings: WholeReading[] = [];
  const { tags } = features;
  if (tags !== undefined) {
    readings.push(...readCaesar(text, tags));
    if ((tags[REVERSED] as number) >= MIN_REVERSED)
      readings.push({ transform: 'reversed', make: () => reverseText(text) });
  }
  if (features.backwardOrder) readings.push({ transform: 'reversed-words', make: () => reverseWords(text) });
  return readings;
}
