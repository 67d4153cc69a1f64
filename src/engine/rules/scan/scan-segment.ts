import { edgeBefore, firstFrom, type Span } from '../../span.js';
import { toUnits } from '../matcher/programs.js';
import type { CompiledPattern } from '../pattern/compiled-pattern.js';
import { type Candidates, type Prefilter, REACH } from '../prefilter/prefilter.js';

/** A part of a view's text with the text around it. All offsets are in the view, UTF-16 code units. */
export interface Segment {
  /** Matches that start in `[start, end)` belong to this segment. */
  readonly start: number;
  readonly end: number;
  /** The text that is scanned: the segment and up to `REACH` characters on both sides. */
  readonly from: number;
  readonly to: number;
}

/** Segments keep a long text's cost per character that of a short one: what is far apart is never combined. */
const SEGMENT = 2048;

/** Cuts a text into segments, on code-point edges; a short text is one. */
export function cutSegments(text: string): readonly Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  while (start < text.length) {
    const rest = text.length - start;
    const end = rest <= SEGMENT + REACH ? text.length : edgeBefore(text, start + SEGMENT);
    segments.push({
      start,
      end,
      from: start === 0 ? 0 : edgeBefore(text, start - REACH),
      to: end === text.length ? end : edgeBefore(text, Math.min(text.length, end + REACH)),
    });
    start = end;
  }
  return segments;
}

/** One segment of a view, scanned. Lives for one scan. */
export interface SegmentScan {
  readonly segment: Segment;
  readonly candidates: Candidates;
  /** The matches of a pattern that begin in this segment and in `starts`, both ends included, in view offsets, ascending. */
  findAll(pattern: CompiledPattern, starts: Span): readonly Span[];
  /** False when a pattern can't match in this segment. */
  mayMatch(pattern: CompiledPattern): boolean;
  /** False when no match of a trigger pattern begins where it could make its rule fire inside the segment's part. */
  mayTrigger(pattern: CompiledPattern): boolean;
}

/** Scans a segment. The segments of a text must be scanned in order. */
export function scanSegment(text: string, segment: Segment, prefilter: Prefilter): SegmentScan {
  const isWhole = segment.from === 0 && segment.to === text.length;
  const part = isWhole ? text : text.slice(segment.from, segment.to);
  let made: Uint16Array | undefined;
  const units = (): Uint16Array => {
    made ??= toUnits(part);
    return made;
  };
  const candidates = prefilter.scan({
    text: part,
    isFirst: segment.from === 0,
    isLast: segment.to === text.length,
    units,
  });
  const found = new Map<CompiledPattern, Found>();
  const triggered = new Map<CompiledPattern, boolean>();
  const known = new Map<CompiledPattern, readonly Span[]>();
  const startsOf = (pattern: CompiledPattern): readonly Span[] => {
    const starts = known.get(pattern) ?? candidates.starts(pattern);
    known.set(pattern, starts);
    return starts;
  };
  return {
    segment,
    candidates,
    findAll(pattern, starts) {
      const start = Math.max(0, starts.start - segment.from);
      const end = Math.min(part.length, starts.end - segment.from);
      const last = found.get(pattern);
      if (last?.start === start && last.end === end) return last.spans;
      const spans = keepOwn(findIn(pattern, units(), { start, end }, startsOf(pattern)), segment);
      found.set(pattern, { start, end, spans });
      return spans;
    },
    mayMatch: (pattern) => startsOf(pattern).length > 0,
    mayTrigger(pattern) {
      let isThere = triggered.get(pattern);
      if (isThere === undefined) {
        isThere = candidates.windows(pattern).some((window) => pattern.pattern.beginsIn(units(), window));
        triggered.set(pattern, isThere);
      }
      return isThere;
    },
  };
}

/** Finds the matches that begin in a range, which can only begin in some parts of it; as one search of the range would. */
function findIn(
  { pattern }: CompiledPattern,
  units: Uint16Array,
  range: Span,
  windows: readonly Span[],
): readonly Span[] {
  const found: Span[] = [];
  let next = range.start;
  for (let at = firstFrom(windows, 'end', next); at < windows.length; at++) {
    const window = windows[at] as Span;
    if (window.start > range.end) break;
    const start = Math.max(next, window.start);
    const end = Math.min(range.end, window.end);
    if (start > end) continue;
    // One by one: a long text may have more than a call takes arguments.
    for (const span of pattern.findAll(units, { start, end })) found.push(span);
    const last = found.at(-1);
    // An empty match doesn't end before the place where the next one may begin.
    if (last) next = Math.max(last.end, last.start + 1);
  }
  return found;
}

/** The last search for a pattern in a part: the matches that begin in a range. A range always gives the same ones, whatever was sought before. */
interface Found extends Span {
  readonly spans: readonly Span[];
}

/** The matches that start in the segment, in view offsets. */
function keepOwn(spans: readonly Span[], { from, start, end }: Segment): readonly Span[] {
  const own: Span[] = [];
  for (const span of spans) {
    const at = span.start + from;
    if (at >= start && at < end) own.push({ start: at, end: span.end + from });
  }
  return own;
}

/** Finds the matches of a wide exception in the whole text of a view that begin up to a place, and perhaps others behind it. */
export type FindWide = (pattern: CompiledPattern, last: number) => readonly Span[];

export function createFindWide(text: string, prefilter: Prefilter): FindWide {
  const found = new Map<CompiledPattern, { readonly starts: readonly Span[]; readonly spans: Span[]; next: number }>();
  let units: Uint16Array | undefined;
  let startsOf: Candidates['starts'] | undefined;
  return (pattern, last) => {
    let known = found.get(pattern);
    if (!known) {
      startsOf ??= prefilter.scanExceptions(text);
      known = { starts: startsOf(pattern), spans: [], next: 0 };
      found.set(pattern, known);
    }
    const { starts, spans, next } = known;
    if (last >= next && starts.length > 0) {
      units ??= toUnits(text);
      for (const span of findIn(pattern, units, { start: next, end: last }, starts)) spans.push(span);
      known.next = Math.max(last + 1, spans.at(-1)?.end ?? 0);
    }
    return spans;
  };
}
