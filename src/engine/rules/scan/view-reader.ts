import type { RegexCompiler, Subject } from '../../ports.js';
import type { Span } from '../../span.js';
import type { Atom } from '../pattern/atoms.js';
import type { GateReading } from '../prefilter/literal-gate.js';
import type { RuleFinder } from '../prefilter/rule-finder.js';
import { cutSegments, REACH, type Segment } from './segments.js';

/** One segment of a view being read. Lives for one scan. */
export interface SegmentReading extends GateReading {
  readonly segment: Segment;
  /** Where an atom occurs, in view offsets, by start; matches that start in this segment. */
  locate(atom: Atom): readonly Span[];
  /** False when an atom that wakes a rule doesn't occur where it could make the rule fire inside the segment's part. */
  mayWake(atom: Atom): boolean;
}

/** Reads a view's text segment by segment, in order. */
export interface ViewReader {
  readonly segments: readonly Segment[];
  read(segment: Segment): SegmentReading;
  /** See `LiteralGate.mayMatch`. */
  mayMatch(atom: Atom, since: GateReading): boolean;
  /** Where an atom with matches longer than `REACH` occurs in the whole text; asked of exceptions only. */
  locateWide(atom: Atom): readonly Span[];
}

export function createViewReader(text: string, finder: RuleFinder, compiler: RegexCompiler): ViewReader {
  const wide = new Map<Atom, readonly Span[]>();
  let whole: Subject | undefined;
  return {
    segments: cutSegments(text),
    mayMatch: finder.mayMatch,
    read(segment) {
      const part = segment.from === 0 && segment.to === text.length ? text : text.slice(segment.from, segment.to);
      let prepared: Subject | undefined;
      const subject = (): Subject => {
        prepared ??= compiler.prepare(part);
        return prepared;
      };
      const place = { isFirst: segment.from === 0, isLast: segment.to === text.length };
      const reading = finder.read(part, place, subject);
      const found = new Map<Atom, readonly Span[]>();
      const woken = new Map<Atom, boolean>();
      return {
        ...reading,
        segment,
        locate(atom) {
          let spans = found.get(atom);
          if (!spans) {
            spans = own(atom.pattern.findAll(subject(), Number.MAX_SAFE_INTEGER), segment);
            found.set(atom, spans);
          }
          return spans;
        },
        mayWake(atom) {
          const window = finder.windowOf(atom, reading);
          if (!window || (window.start === 0 && window.end >= part.length)) return window !== undefined;
          let isThere = woken.get(atom);
          if (isThere === undefined) {
            isThere = atom.pattern.occursIn(subject(), onEdges(part, window));
            woken.set(atom, isThere);
          }
          return isThere;
        },
      };
    },
    locateWide(atom) {
      let spans = wide.get(atom);
      if (!spans) {
        whole ??= compiler.prepare(text);
        spans = atom.pattern.findAll(whole, Number.MAX_SAFE_INTEGER);
        wide.set(atom, spans);
      }
      return spans;
    },
  };
}

export const isWide = (atom: Atom): boolean => atom.longest > REACH;

/** The window widened so that it splits no surrogate pair. */
function onEdges(text: string, { start, end }: Span): Span {
  const isLow = (at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return { start: isLow(start) ? start - 1 : start, end: isLow(end) ? end + 1 : end };
}

/** The matches that start in the segment, in view offsets. */
function own(spans: readonly Span[], { from, start, end }: Segment): readonly Span[] {
  const owned: Span[] = [];
  for (const span of spans) {
    const at = span.start + from;
    if (at >= start && at < end) owned.push({ start: at, end: span.end + from });
  }
  return owned;
}
