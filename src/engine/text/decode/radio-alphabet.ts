import type { Replacement } from '../replacement.js';

const WORD =
  'alfa|alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiskey|x-?ray|yankee|zulu';
const RUN = new RegExp(`\\b(?:${WORD})(?:[ ,./|\\n-]{1,4}(?:${WORD})\\b){3,}`, 'gi');
const WORDS = new RegExp(`(?:${WORD})\\b`, 'gi');

/** Reads words that are spelt in the radio alphabet (India Golf November ...). */
export function decodeRadioAlphabet(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const start = match.index;
    let read = '';
    const starts: number[] = [];
    let end = 0;
    for (const word of match[0].matchAll(WORDS)) {
      // A slash, a bar or a line break between two words of the alphabet parts two words of the text.
      if (end > 0 && /[/|\n]/.test(match[0].slice(end, word.index))) {
        read += ' ';
        starts.push(start + end);
      }
      read += word[0].charAt(0);
      starts.push(start + word.index);
      end = word.index + word[0].length;
    }
    found.push({ start, end: start + match[0].length, text: read, starts, transform: 'radio-alphabet' });
  }
  return found;
}
