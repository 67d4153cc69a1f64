import type { OffsetMap } from '../offset-map.js';
import type { Rewritten } from '../rewrite.js';

const WORD = /[^\s.,;:!?()[\]{}<>"“”]+/g;

/** The words of the text in reverse order, with single spaces and no punctuation. */
export function reverseWords(text: string): Rewritten {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const match of text.matchAll(WORD)) {
    starts.push(match.index);
    ends.push(match.index + match[0].length);
  }
  const count = starts.length;
  const offsets: number[] = [];
  const words: string[] = [];
  let length = 0;
  for (let i = count - 1; i >= 0; i -= 1) {
    const word = text.slice(starts[i], ends[i]);
    offsets.push(length);
    words.push(word);
    length += word.length + 1;
  }
  /** The reversed word that holds the unit; the space after it counts as its own. */
  const wordAt = (unit: number): number => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((offsets[middle] as number) <= unit) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  };
  const map: OffsetMap = {
    identity: false,
    toInput({ start, end }) {
      if (count === 0) return { start: 0, end: 0 };
      const first = wordAt(start);
      const last = wordAt(Math.max(start, end - 1));
      // Within one word the offsets run forwards, so that a part of it maps to that part.
      const from = count - 1 - last;
      if (first === last) {
        const shift = (starts[from] as number) - (offsets[first] as number);
        return { start: start + shift, end: Math.min(end + shift, Math.max(start + shift, ends[from] as number)) };
      }
      return { start: starts[from] as number, end: ends[count - 1 - first] as number };
    },
  };
  return { text: words.join(' '), map };
}
