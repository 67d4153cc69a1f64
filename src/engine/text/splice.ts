import type { Replacement } from './replacement.js';
import { finishRewrite, type Rewritten, replaceSpan, replaceUnits, startRewrite } from './rewrite.js';

/** Stands between two parts that did not follow one another: no pattern may run across it. */
export const JOINT = '\n.\n';

/** Sorts by start and leaves out what overlaps an earlier or, at the same place, a longer replacement. */
export function settleReplacements(found: readonly Replacement[]): readonly Replacement[] {
  const sorted = isSorted(found) ? found : [...found].sort((a, b) => a.start - b.start || b.end - a.end);
  const kept: Replacement[] = [];
  let end = 0;
  for (const replacement of sorted) {
    if (replacement.start < end) continue;
    kept.push(replacement);
    end = replacement.end;
  }
  return kept;
}

/** One decoder alone gives its runs in order: the common case. */
function isSorted(found: readonly Replacement[]): boolean {
  for (let i = 1; i < found.length; i += 1) {
    if ((found[i] as Replacement).start <= (found[i - 1] as Replacement).start) return false;
  }
  return true;
}

/** A spliced text, and where in it the replacements lie: start and end in turn. */
export interface Spliced extends Rewritten {
  readonly fresh: readonly number[];
}

/**
 * Puts the replacements (ascending, apart) in place. Of the text around them `context` units are kept on either
 * side; what lies between is left out, with a joint in its place.
 */
export function spliceText(text: string, replacements: readonly Replacement[], context: number): Spliced {
  const rewrite = startRewrite(text);
  const fresh: number[] = [];
  let end = 0;
  for (const [i, { start, end: next, text: piece, starts }] of replacements.entries()) {
    const from = i === 0 ? 0 : cutAfter(text, end + context);
    const to = cutBefore(text, start - context);
    if (to > from) replaceSpan(rewrite, from, to, i === 0 ? '' : JOINT);
    if (starts === undefined) replaceSpan(rewrite, start, next, piece);
    else replaceUnits(rewrite, start, next, piece, starts);
    fresh.push(next + rewrite.shift - piece.length, next + rewrite.shift);
    end = next;
  }
  const last = cutAfter(text, end + context);
  if (last < text.length) replaceSpan(rewrite, last, text.length, '');
  return { ...finishRewrite(rewrite), fresh };
}

/** Upper bound of the length that `spliceText` gives. */
export function splicedLength(text: string, replacements: readonly Replacement[], context: number): number {
  let length = 0;
  for (const { text: piece } of replacements) length += piece.length + 2 * context + JOINT.length;
  let grown = text.length;
  for (const { start, end, text: piece } of replacements) grown += piece.length - (end - start);
  return Math.min(length, grown);
}

/** An edge at or before the offset that splits no surrogate pair. */
function cutBefore(text: string, offset: number): number {
  if (offset <= 0) return 0;
  return (text.charCodeAt(offset) & 0xfc00) === 0xdc00 ? offset - 1 : offset;
}

/** An edge at or after the offset that splits no surrogate pair. */
function cutAfter(text: string, offset: number): number {
  if (offset >= text.length) return text.length;
  return (text.charCodeAt(offset) & 0xfc00) === 0xdc00 ? offset + 1 : offset;
}

/** Those of the replacements (ascending) that touch a fresh part. */
export function onlyFresh(replacements: readonly Replacement[], fresh: readonly number[]): readonly Replacement[] {
  let k = 0;
  return replacements.filter(({ start, end }) => {
    while (k < fresh.length && (fresh[k + 1] as number) < start) k += 2;
    return k < fresh.length && (fresh[k] as number) <= end;
  });
}
