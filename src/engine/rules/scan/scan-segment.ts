import type { RegexCompiler, Subject } from '../../ports.js';
import type { Span } from '../../span.js';
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
    const end = rest <= SEGMENT + REACH ? text.length : toCodePointEdge(text, start + SEGMENT);
    segments.push({
      start,
      end,
      from: start === 0 ? 0 : toCodePointEdge(text, start - REACH),
      to: end === text.length ? end : toCodePointEdge(text, Math.min(text.length, end + REACH)),
    });
    start = end;
  }
  return segments;
}

/** The offset itself, or one before it where it would split a surrogate pair. */
function toCodePointEdge(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && at < text.length && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** One segment of a view, scanned. Lives for one scan. */
export interface SegmentScan {
  readonly segment: Segment;
  /** True when the segment is the whole text. */
  readonly isWhole: boolean;
  readonly candidates: Candidates;
  /** The matches of a pattern that start in this segment, in view offsets, ascending. */
  findAll(pattern: CompiledPattern): readonly Span[];
  /** False when a pattern can't match in this segment: the last one scanned, or the one before it. */
  mayMatch(pattern: CompiledPattern): boolean;
  /** False when a trigger pattern doesn't match where it could make its rule fire inside the segment's part. */
  mayTrigger(pattern: CompiledPattern): boolean;
}

/** Scans a segment. The segments of a text must be scanned in order. */
export function scanSegment(
  text: string,
  segment: Segment,
  prefilter: Prefilter,
  compiler: RegexCompiler,
): SegmentScan {
  const isWhole = segment.from === 0 && segment.to === text.length;
  const part = isWhole ? text : text.slice(segment.from, segment.to);
  let prepared: Subject | undefined;
  const subject = (): Subject => {
    prepared ??= compiler.prepare(part);
    return prepared;
  };
  const candidates = prefilter.scan({
    text: part,
    isFirst: segment.from === 0,
    isLast: segment.to === text.length,
    subject,
  });
  const found = new Map<CompiledPattern, readonly Span[]>();
  const triggered = new Map<CompiledPattern, boolean>();
  return {
    segment,
    isWhole,
    candidates,
    findAll(pattern) {
      let spans = found.get(pattern);
      if (!spans) {
        spans = keepOwn(pattern.pattern.findAll(subject(), Number.MAX_SAFE_INTEGER), segment);
        found.set(pattern, spans);
      }
      return spans;
    },
    mayMatch: (pattern) => prefilter.mayMatch(pattern, candidates),
    mayTrigger(pattern) {
      const window = prefilter.window(pattern, candidates);
      if (!window || (window.start <= 0 && window.end >= part.length)) return window !== undefined;
      let isThere = triggered.get(pattern);
      if (isThere === undefined) {
        isThere = pattern.pattern.occursIn(subject(), addContext(part, window));
        triggered.set(pattern, isThere);
      }
      return isThere;
    },
  };
}

/** The characters on either side of a match decide `\b` and the like: a code point. */
const CONTEXT = 2;

/** The window with the characters on either side; it splits no surrogate pair. */
function addContext(text: string, { start, end }: Span): Span {
  const isLow = (at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const [from, to] = [Math.max(0, start - CONTEXT), Math.min(text.length, end + CONTEXT)];
  return { start: isLow(from) ? from - 1 : from, end: isLow(to) ? to + 1 : to };
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

/** Finds all matches of a pattern in the whole text of a view. */
export type FindWide = (pattern: CompiledPattern) => readonly Span[];

/** For exceptions, whose matches may be longer than `REACH`. */
export function isWide(pattern: CompiledPattern): boolean {
  return pattern.longest > REACH;
}

export function createFindWide(text: string, compiler: RegexCompiler): FindWide {
  const found = new Map<CompiledPattern, readonly Span[]>();
  let subject: Subject | undefined;
  return (pattern) => {
    let spans = found.get(pattern);
    if (!spans) {
      subject ??= compiler.prepare(text);
      spans = pattern.pattern.findAll(subject, Number.MAX_SAFE_INTEGER);
      found.set(pattern, spans);
    }
    return spans;
  };
}
