import { hullOf, type Span } from '../../span.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { CompiledPattern } from '../pattern/compiled-pattern.js';
import { EVERYWHERE, isWide, REACH } from '../prefilter/prefilter.js';
import { matchAll, matchSequence } from './match-steps.js';
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
