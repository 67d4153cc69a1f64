import { edgeAfter, edgeBefore, type Span } from '../span.js';
import { type OffsetMap, segmentMap } from './offset-map.js';

/** A rewriting under way: what was not replaced is copied from the source. Spans come in ascending order. */
export interface Rewrite {
  readonly source: string;
  out: string;
  /** Up to here the source has been read. */
  read: number;
  /** View offset minus source offset at `read`. */
  shift: number;
  edits: number[];
  /** Full blocks of edits: a plain array of many millions is slow and has a ceiling. */
  readonly blocks: Int32Array[];
  /** Pieces since `out` was last flattened: a rope of millions of pieces takes much memory. */
  pieces: number;
}

export interface Rewritten {
  readonly text: string;
  readonly map: OffsetMap;
}

const BLOCK = 3 << 16;
const ROPE = 1 << 15;

export function startRewrite(source: string): Rewrite {
  return { source, out: '', read: 0, shift: 0, edits: [], blocks: [], pieces: 0 };
}

/** Puts `text` where the source has `[from, to)`; the same length counts as a replacement unit by unit. */
export function replaceSpan(rewrite: Rewrite, from: number, to: number, text: string): void {
  if (from > rewrite.read) rewrite.out += rewrite.source.slice(rewrite.read, from);
  rewrite.out += text;
  rewrite.read = to;
  if (text.length !== to - from) {
    const start = from + rewrite.shift;
    pushEdit(rewrite, start, from, start + text.length);
    rewrite.shift += text.length - (to - from);
  }
  rewrite.pieces += 1;
  // Reading a unit of a rope makes the engine lay it out flat, which frees the pieces.
  if (rewrite.pieces === ROPE) rewrite.pieces = rewrite.out.charCodeAt(0) >= 0 ? 0 : 0;
}

/**
 * Puts `text` where the source has `[from, to)`, with the source offset at which each unit of it begins
 * (ascending; a unit ends where the next one begins). The second unit of a pair repeats the first one's offset.
 */
function replaceUnits(rewrite: Rewrite, from: number, to: number, text: string, starts: ArrayLike<number>): void {
  if (from > rewrite.read) rewrite.out += rewrite.source.slice(rewrite.read, from);
  const base = from + rewrite.shift;
  let unit = 0;
  while (unit < text.length) {
    let next = unit + 1;
    while (next < text.length && starts[next] === starts[unit]) next += 1;
    pushEdit(rewrite, base + unit, unit === 0 ? from : (starts[unit] ?? from), base + next);
    unit = next;
  }
  if (text.length === 0) pushEdit(rewrite, base, from, base);
  rewrite.out += text;
  rewrite.read = to;
  rewrite.shift += text.length - (to - from);
}

/** Copies the rest and gives the text with its map back to the source. */
export function finishRewrite(rewrite: Rewrite): Rewritten {
  const { source, blocks } = rewrite;
  const text = rewrite.read === 0 && rewrite.out === '' ? source : rewrite.out + source.slice(rewrite.read);
  return { text, map: segmentMap(blocks.length === 0 ? rewrite.edits : join(rewrite), text.length, source.length) };
}

function pushEdit(rewrite: Rewrite, viewStart: number, inputStart: number, viewEnd: number): void {
  rewrite.edits.push(viewStart, inputStart, viewEnd);
  if (rewrite.edits.length === BLOCK) {
    rewrite.blocks.push(Int32Array.from(rewrite.edits));
    rewrite.edits = [];
  }
}

function join({ blocks, edits }: Rewrite): Int32Array {
  const all = new Int32Array(blocks.length * BLOCK + edits.length);
  for (const [i, block] of blocks.entries()) all.set(block, i * BLOCK);
  all.set(edits, blocks.length * BLOCK);
  return all;
}

/** A run of a text that a decoder reads as something else. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Source offset of each unit of `text`, ascending; without it the run is one piece. */
  readonly starts?: ArrayLike<number> | undefined;
  readonly transform: string;
}

/** Separator between two parts that did not follow one another: no pattern matches across it. */
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
    const from = i === 0 ? 0 : edgeAfter(text, end + context);
    const to = edgeBefore(text, start - context);
    if (to > from) replaceSpan(rewrite, from, to, i === 0 ? '' : JOINT);
    if (starts === undefined) replaceSpan(rewrite, start, next, piece);
    else replaceUnits(rewrite, start, next, piece, starts);
    fresh.push(next + rewrite.shift - piece.length, next + rewrite.shift);
    end = next;
  }
  const last = edgeAfter(text, end + context);
  if (last < text.length) replaceSpan(rewrite, last, text.length, '');
  return { ...finishRewrite(rewrite), fresh };
}

/**
 * Nothing but these spans of a text (ascending; one that overlaps the one before is left out), with a joint before each
 * but the first.
 */
export function keepSpans<Part extends Span>(
  text: string,
  spans: readonly Part[],
  jointBefore: (part: Part) => string = () => JOINT,
): Rewritten {
  const rewrite = startRewrite(text);
  let kept = -1;
  for (const span of spans) {
    if (span.start < kept) continue;
    replaceSpan(rewrite, Math.max(kept, 0), span.start, kept < 0 ? '' : jointBefore(span));
    kept = span.end;
  }
  replaceSpan(rewrite, Math.max(kept, 0), text.length, '');
  return finishRewrite(rewrite);
}

/** Upper bound of the length that `spliceText` gives. */
export function splicedLength(text: string, replacements: readonly Replacement[], context: number): number {
  let length = 0;
  for (const { text: piece } of replacements) length += piece.length + 2 * context + JOINT.length;
  let grown = text.length;
  for (const { start, end, text: piece } of replacements) grown += piece.length - (end - start);
  return Math.min(length, grown);
}

/** Those of the replacements (ascending) that touch a fresh part. */
export function keepFresh(replacements: readonly Replacement[], fresh: readonly number[]): readonly Replacement[] {
  let k = 0;
  return replacements.filter(({ start, end }) => {
    while (k < fresh.length && (fresh[k + 1] as number) < start) k += 2;
    return k < fresh.length && (fresh[k] as number) <= end;
  });
}
