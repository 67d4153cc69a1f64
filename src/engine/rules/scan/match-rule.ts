import { firstFrom, hullOf, type Span } from '../../span.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { CompiledPattern } from '../pattern/compiled-pattern.js';
import { EVERYWHERE, isWide, REACH } from '../prefilter/prefilter.js';
import type { Stop } from '../types.js';
import type { FindWide, SegmentScan } from './scan-segment.js';

/** The segment that is decided with its neighbours: matches of a rule may reach into the next one. */
export interface Neighbourhood {
  readonly before: SegmentScan | undefined;
  readonly here: SegmentScan;
  readonly after: SegmentScan | undefined;
}

/**
 * Finds where a rule matches, starting in `here`. View offsets, sorted, distinct, trimmed of separators. `rule` is the one that the
 * prefilter knows; `except` are its exceptions.
 */
export function matchRule(
  rule: CompiledRule,
  except: readonly CompiledPattern[],
  text: string,
  near: Neighbourhood,
  findWide: FindWide,
): readonly Span[] {
  const spans = fire(rule, text, near);
  if (spans.length === 0) return spans;
  const kept = except.length === 0 ? spans : dropExcepted(spans, except, near, findWide);
  return distinct(kept.map((span) => trimSpan(text, span)));
}

function fire(rule: CompiledRule, text: string, { here, after }: Neighbourhood): readonly Span[] {
  const { shape, steps } = rule;
  const isLeaving = here.candidates.leaving.has(rule);
  const isEntering = after?.candidates.entering.has(rule) === true;
  const scans = after && (isLeaving || isEntering) && shape.kind !== 'any' ? [here, after] : [here];
  // Near the edges, literals of the neighbour may have triggered a rule that can be long.
  const isInside = rule.maxSpan <= REACH || !(isLeaving || isEntering);
  if (!isInside && !steps.every((patterns) => scans.some((scan) => patterns.some(scan.mayMatch)))) return NOWHERE;
  const spans: (readonly Span[])[] = [];
  let starts = EVERYWHERE;
  // The step whose literals are least common comes first: most rules end there.
  for (const step of rule.order) {
    let patterns = steps[step] as readonly CompiledPattern[];
    if (isInside && step === rule.order[0]) patterns = patterns.filter(here.mayTrigger);
    const found = findLikely(patterns, scans, starts);
    if (found.length === 0) return NOWHERE;
    spans[step] = found;
    const hull = hullOf(found);
    starts = { start: hull.start - rule.maxSpan, end: hull.end + rule.maxSpan };
  }
  const before = here.segment.end;
  if (shape.kind === 'any') return spans[0] ?? NOWHERE;
  return shape.kind === 'sequence'
    ? matchSequence(text, spans, shape.gap, shape.stop, before)
    : matchAll(text, spans, shape.within, shape.stop, before);
}

const NOWHERE: readonly Span[] = [];

/** The matches of patterns in the segments that have their literals. */
function findLikely(
  patterns: readonly CompiledPattern[],
  scans: readonly SegmentScan[],
  starts: Span,
): readonly Span[] {
  const found = scans.flatMap((scan) =>
    patterns.flatMap((pattern) => (scan.mayMatch(pattern) ? scan.findAll(pattern, starts) : NOWHERE)),
  );
  return patterns.length < 2 ? found : found.sort(bySpan);
}

const bySpan = (a: Span, b: Span): number => a.start - b.start || a.end - b.end;

/** Drops spans that lie wholly inside an exception. An exception holding a span starts no later than the span. */
function dropExcepted(
  spans: readonly Span[],
  except: readonly CompiledPattern[],
  { before, here }: Neighbourhood,
  findWide: FindWide,
): readonly Span[] {
  const scans = before ? [before, here] : [here];
  let kept = [...spans].sort(bySpan);
  for (const pattern of except) {
    const last = kept.at(-1)?.start;
    if (last === undefined) break;
    const starts = { start: (kept[0] as Span).start - pattern.longest, end: last };
    const exceptions = isWide(pattern)
      ? findWide(pattern, last)
      : scans.flatMap((scan) => scan.findAll(pattern, starts));
    kept = dropInside(kept, exceptions);
  }
  return kept;
}

/** Drops spans that lie inside one of others. Both in ascending order. */
function dropInside(spans: readonly Span[], others: readonly Span[]): Span[] {
  let next = 0;
  let reach = -1;
  return spans.filter((span) => {
    for (; next < others.length && (others[next] as Span).start <= span.start; next++) {
      reach = Math.max(reach, (others[next] as Span).end);
    }
    return reach < span.end;
  });
}

function distinct(spans: readonly Span[]): readonly Span[] {
  const sorted = [...spans].sort(bySpan);
  return sorted.filter((span, index) => {
    const last = sorted[index - 1];
    return !last || last.start !== span.start || last.end !== span.end;
  });
}

const WORD = /[\p{L}\p{N}]/u;
/** Marks that open something and belong to the finding: tags, brackets, chat-template tokens. */
const OPENING = '<[({#&|';

/** Drops the separators that a pattern took along at its start, and white space at its end. Never empties a span. */
function trimSpan(text: string, span: Span): Span {
  let { start, end } = span;
  while (end > start + 1 && /\s/.test(text[end - 1] as string)) end--;
  while (start < end - 1) {
    const letter = String.fromCodePoint(text.codePointAt(start) as number);
    if (WORD.test(letter) || OPENING.includes(letter)) break;
    if (start + letter.length >= end) break;
    start += letter.length;
  }
  return { start, end };
}

/** The matches of every step, each sorted by start, then end. */
type StepSpans = readonly (readonly Span[])[];

/**
 * Finds ordered steps: for each match of the first step that starts before `before`, the chain that ends first.
 * Each step begins at most `gap` characters after the end of the one before it, with no sentence boundary between them.
 */
function matchSequence(text: string, steps: StepSpans, gap: number, stop: Stop, before: number): readonly Span[] {
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
function matchAll(text: string, steps: StepSpans, within: number, stop: Stop, before: number): readonly Span[] {
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
 * the text follows, the end of a line before an item of a list or a heading, or a blank line, which only the raw view still has. O(to - from).
 */
function findBoundary(text: string, stop: Stop, from: number, to: number): number {
  if (stop === 'none') return to;
  for (let i = from; i < to; i++) {
    const letter = text[i] as string;
    if (letter === '\n' && (startsBlankLine(text, i, to) || startsListItem(text, i))) return i;
    if (SENTENCE_TERMINATORS.has(letter) && isSpace(text, i + 1)) return i;
  }
  return to;
}

const LIST_ITEM = /[ \t]{0,12}(?:[-*\u2022]|#{1,6}|\d{1,3}[.)])[ \t]/y;

function startsListItem(text: string, at: number): boolean {
  LIST_ITEM.lastIndex = at + 1;
  return LIST_ITEM.test(text);
}

function startsBlankLine(text: string, at: number, to: number): boolean {
  for (let i = at + 1; i < to; i++) {
    if (text[i] === '\n') return true;
    if (!isSpace(text, i)) return false;
  }
  return false;
}
