import type { Replacement } from '../replacement.js';

/** A flag of a region (black flag, five letters or so, cancel tag) is honest. */
const RUN = /(?<![\u{1f3f4}\u{e0020}-\u{e007f}])[\u{e0020}-\u{e007e}\u{e0001}\u{e007f}]{4,}/gu;

/** Reads text in the invisible tag characters U+E0020..U+E007E. @see Unicode 15, section 23.9 */
export function decodeUnicodeTags(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const start = match.index;
    // The line breaks keep it apart from the words that it hides behind.
    let read = '\n';
    const starts = [start];
    for (let i = 0; i < match[0].length; i += 2) {
      const unit = match[0].charCodeAt(i + 1) - 0xdc00;
      if (unit < 0x20 || unit === 0x7f) continue;
      read += String.fromCharCode(unit);
      starts.push(start + i);
    }
    starts.push(start + match[0].length);
    found.push({ start, end: start + match[0].length, text: `${read}\n`, starts, transform: 'unicode-tags' });
  }
  return found;
}
