import { RUN_CAP } from '../pattern/counted-length.js';

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13 && code !== 11);

/**
 * Where `countedLength` leaves characters of a text out: offsets and how many from there on, in turn. Jumps from run to
 * run: a text without long ones costs a look or two for each `RUN_CAP` characters.
 */
export function longRuns(text: string): readonly number[] {
  const skips: number[] = [];
  const { length } = text;
  for (let start = 0; start + RUN_CAP < length; ) {
    let at = start + RUN_CAP;
    const kind = isSpace(text.charCodeAt(at));
    while (at > start && isSpace(text.charCodeAt(at - 1)) === kind) at--;
    if (at > start) {
      start = at;
      continue;
    }
    let end = start + RUN_CAP + 1;
    while (end < length && isSpace(text.charCodeAt(end)) === kind) end++;
    skips.push(start + RUN_CAP, end - start - RUN_CAP);
    start = end;
  }
  return skips;
}

/** What a text counts up to an offset. */
export function countedAt(skips: readonly number[], offset: number): number {
  let left = 0;
  for (let i = 0; i < skips.length && (skips[i] as number) < offset; i += 2) {
    left += Math.min(skips[i + 1] as number, offset - (skips[i] as number));
  }
  return offset - left;
}

/** The first offset up to which a text counts so much. */
export function offsetAt(skips: readonly number[], count: number): number {
  let left = 0;
  for (let i = 0; i < skips.length && (skips[i] as number) - left < count; i += 2) left += skips[i + 1] as number;
  return count + left;
}
