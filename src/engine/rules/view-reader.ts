import type { RegexCompiler, Subject } from '../ports.js';
import type { Span } from '../span.js';
import type { Atom } from './atoms.js';
import { cutSegments, REACH, type Segment } from './segments.js';
import { scriptsIn } from './scripts.js';
import type { Shard } from './shards.js';

/** One segment of a view being read: which atoms occur, and where. Lives for one scan. */
export interface SegmentReading {
  readonly segment: Segment;
  /** Bits of the steps that have a hit, by rule index. */
  readonly steps: ReadonlyMap<number, number>;
  /** Where an atom occurs, in view offsets, by start; matches that start in this segment. */
  locate(atom: Atom): readonly Span[];
}

/** Reads a view's text segment by segment. */
export interface ViewReader {
  readonly segments: readonly Segment[];
  read(segment: Segment, shards: readonly Shard[]): SegmentReading;
  /** Where an atom with matches longer than `REACH` occurs in the whole text; asked of exceptions only. */
  locateWide(atom: Atom): readonly Span[];
}

const NOWHERE: readonly Span[] = [];

export function createViewReader(text: string, compiler: RegexCompiler): ViewReader {
  const wide = new Map<Atom, readonly Span[]>();
  let whole: Subject | undefined;
  return {
    segments: cutSegments(text),
    read(segment, shards) {
      const part = segment.from === 0 && segment.to === text.length ? text : text.slice(segment.from, segment.to);
      const subject = compiler.prepare(part);
      const hits = new Set<Atom>();
      const steps = hitSteps(subject, shards, hits);
      const found = new Map<Atom, readonly Span[]>();
      return {
        segment,
        steps,
        locate(atom) {
          if (atom.uses.length > 0 && !hits.has(atom)) return NOWHERE;
          let spans = found.get(atom);
          if (!spans) {
            spans = own(atom.pattern.findAll(subject, Number.MAX_SAFE_INTEGER), segment);
            found.set(atom, spans);
          }
          return spans;
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

function own(spans: readonly Span[], { from, start, end }: Segment): readonly Span[] {
  if (from === 0 && start === 0) return spans.length > 0 && (spans.at(-1) as Span).start >= end ? spans.filter((span) => span.start < end) : spans;
  const owned: Span[] = [];
  for (const span of spans) {
    const at = span.start + from;
    if (at >= start && at < end) owned.push({ start: at, end: span.end + from });
  }
  return owned;
}

function hitSteps(subject: Subject, shards: readonly Shard[], hits: Set<Atom>): ReadonlyMap<number, number> {
  const steps = new Map<number, number>();
  let scripts = -1;
  const add = (atom: Atom): void => {
    hits.add(atom);
    for (const { rule, step } of atom.uses) steps.set(rule, (steps.get(rule) ?? 0) | (1 << step));
  };
  for (const shard of shards) {
    if (shard.script !== 0) {
      if (scripts < 0) scripts = scriptsIn(subject.text);
      if ((scripts & shard.script) === 0) continue;
    }
    const matched = shard.set?.match(subject);
    if (matched) for (const index of matched) add(shard.atoms[index] as Atom);
    else for (const atom of shard.atoms) if (atom.pattern.test(subject)) add(atom);
  }
  return steps;
}
