import type { Stop } from '../types.js';

const SENTENCE_ENDS = new Set('.!?\u3002\uff01\uff1f\u0964\u061f');
const isSpace = (text: string, at: number): boolean => at >= text.length || /\s/.test(text[at] as string);

/**
 * The offset of the first stop in `[from, to)`, or `to` when there is none. A sentence stops at its mark when white
 * space or the text's end follows, and at a blank line, which the raw view alone still has. O(to - from).
 */
export function firstStop(text: string, stop: Stop, from: number, to: number): number {
  if (stop === 'none') return to;
  for (let i = from; i < to; i++) {
    const letter = text[i] as string;
    if (letter === '\n' && blankLine(text, i, to)) return i;
    if (SENTENCE_ENDS.has(letter) && isSpace(text, i + 1)) return i;
  }
  return to;
}

function blankLine(text: string, at: number, to: number): boolean {
  for (let i = at + 1; i < to; i++) {
    if (text[i] === '\n') return true;
    if (!isSpace(text, i)) return false;
  }
  return false;
}
