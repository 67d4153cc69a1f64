import { firstFrom, type Span } from '../../span.js';
import type { Stop } from '../types.js';

/** The matches of every step, each sorted by start, then end. */
export type StepSpans = readonly (readonly Span[])[];

/**
 * Finds ordered steps: for each match of the first step that starts before `before`, the chain that ends first.
 * Each step begins at most `gap` characters after the end of the one before it, with no sentence boundary between them.
 */
export function matchSequence(
  text: string,
  steps: StepSpans,
  gap: number,
  stop: Stop,
  before: number,
): readonly Span[] {
  let ends: readonly number[] = (steps.at(-1) ?? []).map((span) => span.end);
  for (let step = steps.length - 2; step >= 0; step--) {
    const next = steps[step + 1] as readonly Span[];
    const later = ends;
    ends = (steps[step] as readonly Span[]).map((span) => {
      let best = Number.POSITIVE_INFINITY;
      let limit = -1;
      for (let i = firstFrom(next, 'start', span.end); i < next.length; i++) {
        const start = (next[i] as Span).start;
        if (start > span.end + gap) break;
        if (limit < 0) limit = findBoundary(text, stop, span.end, Math.min(text.length, span.end + gap));
        if (start > limit) break;
        best = Math.min(best, later[i] as number);
      }
      return best;
    });
  }
  return (steps[0] ?? []).flatMap(({ start }, index) => {
    const end = ends[index] as number;
    return start < before && end < Number.POSITIVE_INFINITY ? [{ start, end }] : [];
  });
}

/**
 * Finds steps in any order: for each match that starts before `before`, the nearest later match of every other step,
 * when all of it lies inside `within` characters and no sentence boundary stands between them.
 */
export function matchAll(text: string, steps: StepSpans, within: number, stop: Stop, before: number): readonly Span[] {
  const found: Span[] = [];
  steps.forEach((spans, step) => {
    for (const first of spans) {
      if (first.start >= before) break;
      const chosen = [first];
      for (let other = 0; other < steps.length; other++) {
        if (other === step) continue;
        const others = steps[other] as readonly Span[];
        // A tie in starts is found from the lower step alone, so that each set of matches is seen once.
        const next = others[firstFrom(others, 'start', other < step ? first.start + 1 : first.start)];
        if (!next || next.start > first.start + within) break;
        chosen.push(next);
      }
      if (chosen.length < steps.length) continue;
      const end = Math.max(...chosen.map((span) => span.end));
      if (end - first.start <= within && !isBroken(text, chosen, stop)) found.push({ start: first.start, end });
    }
  });
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

function isBroken(text: string, chosen: readonly Span[], stop: Stop): boolean {
  if (stop === 'none') return false;
  const sorted = [...chosen].sort((a, b) => a.start - b.start);
  let end = (sorted[0] as Span).end;
  for (const span of sorted.slice(1)) {
    if (span.start > end && findBoundary(text, stop, end, span.start) < span.start) return true;
    end = Math.max(end, span.end);
  }
  return false;
}

const SENTENCE_TERMINATORS = new Set('.!?\u3002\uff01\uff1f\u0964\u061f');
const isSpace = (text: string, at: number): boolean => at >= text.length || /\s/.test(text[at] as string);

/**
 * The first sentence boundary in `[from, to)`, or `to` when there is none: a terminator that white space or the end of
 * the text follows, or a blank line, which only the raw view still has. O(to - from).
 */
function findBoundary(text: string, stop: Stop, from: number, to: number): number {
  if (stop === 'none') return to;
  for (let i = from; i < to; i++) {
    const letter = text[i] as string;
    if (letter === '\n' && startsBlankLine(text, i, to)) return i;
    if (SENTENCE_TERMINATORS.has(letter) && isSpace(text, i + 1)) return i;
  }
  return to;
}

function startsBlankLine(text: string, at: number, to: number): boolean {
  for (let i = at + 1; i < to; i++) {
    if (text[i] === '\n') return true;
    if (!isSpace(text, i)) return false;
  }
  return false;
}
