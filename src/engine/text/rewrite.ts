import type { OffsetMap } from './offset-map.js';
import { segmentMap } from './segment-map.js';

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

/** A text that was made from another, and the way back. */
export interface Rewritten {
  readonly text: string;
  readonly map: OffsetMap;
}

const BLOCK = 3 << 16;
const ROPE = 1 << 15;

/** Starts a rewriting of the source. */
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
  if (rewrite.pieces === ROPE) flatten(rewrite);
}

/**
 * Puts `text` where the source has `[from, to)`, with the source offset at which each unit of it begins
 * (ascending; a unit ends where the next one begins). The second unit of a pair repeats the first one's offset.
 */
export function replaceUnits(
  rewrite: Rewrite,
  from: number,
  to: number,
  text: string,
  starts: ArrayLike<number>,
): void {
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

/** Reading a unit of a rope makes the engine lay it out flat, which frees the pieces. */
function flatten(rewrite: Rewrite): void {
  rewrite.pieces = rewrite.out.charCodeAt(0) >= 0 ? 0 : 0;
}
