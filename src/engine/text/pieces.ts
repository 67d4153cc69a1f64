import type { Draft } from './draft.js';
import type { OffsetMap } from './offset-map.js';
import type { TextLimits } from './text-limits.js';

/** A long text in pieces that overlap, none of which splits a surrogate pair; a short one as it is. */
export function pieces(draft: Draft, limits: TextLimits): readonly Draft[] {
  const { text } = draft;
  if (text.length <= limits.piece) return [draft];
  const found: Draft[] = [];
  for (let from = 0; from < text.length; from += limits.piece) {
    const start = edge(text, from);
    const end = edge(text, Math.min(text.length, from + limits.piece + limits.pieceOverlap));
    found.push({ ...draft, text: text.slice(start, end), map: shifted(start) });
  }
  return found;
}

function edge(text: string, offset: number): number {
  return (text.charCodeAt(offset) & 0xfc00) === 0xdc00 ? offset - 1 : offset;
}

function shifted(by: number): OffsetMap {
  return { identity: false, toInput: ({ start, end }) => ({ start: start + by, end: end + by }) };
}
