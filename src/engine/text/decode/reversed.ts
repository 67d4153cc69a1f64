import type { OffsetMap } from '../offset-map.js';
import type { Rewritten } from '../rewrite.js';

/** The text backwards, code point by code point. */
export function reverseText(text: string): Rewritten {
  const { length } = text;
  const map: OffsetMap = {
    identity: false,
    toInput: ({ start, end }) => ({ start: length - end, end: length - start }),
  };
  const pieces: string[] = [];
  for (let end = length; end > 0; end -= PIECE) pieces.push(reversePiece(text, Math.max(0, end - PIECE), end));
  // Pairs come out with their halves exchanged, also those that a piece's edge parted.
  const text2 = pieces.join('').replace(/([\udc00-\udfff])([\ud800-\udbff])/g, '$2$1');
  return { text: text2, map };
}

const PIECE = 4096;

function reversePiece(text: string, from: number, to: number): string {
  const units = new Uint16Array(to - from);
  for (let i = from; i < to; i += 1) units[to - 1 - i] = text.charCodeAt(i);
  return String.fromCharCode(...units);
}
