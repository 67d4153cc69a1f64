import type { Span } from '../../span.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { Atom } from '../pattern/atoms.js';
import { matchAll, matchSequence } from './match-steps.js';
import { trimSpan } from './trim-span.js';
import { isWide, type SegmentReading, type ViewReader } from './view-reader.js';

/** The segments around the one that is decided: matches of a rule may reach into the next one. */
export interface Neighbourhood {
  readonly before: SegmentReading | undefined;
  readonly here: SegmentReading;
  readonly after: SegmentReading | undefined;
}

/** Where a rule fires, starting in `here`. View offsets, sorted, distinct, trimmed of separators. */
export function findInView(rule: CompiledRule, text: string, near: Neighbourhood, reader: ViewReader): readonly Span[] {
  const spans = fire(rule, text, near, reader);
  if (spans.length === 0) return spans;
  const left = rule.except.length === 0 ? spans : dropExcepted(spans, rule.except, near, reader);
  return distinct(left.map((span) => trimSpan(text, span)));
}

function fire(rule: CompiledRule, text: string, near: Neighbourhood, reader: ViewReader): readonly Span[] {
  const { shape, steps } = rule;
  const { here, after } = near;
  const readings = after && shape.kind !== 'any' ? [here, after] : [here];
  // What stands near the edges may have been woken by literals of the neighbour.
  const isInside = here.isWhole || !(here.late.includes(rule) || after?.early.includes(rule));
  const spans: (readonly Span[])[] = [];
  // The step that is seen least comes first: most rules end there.
  for (const step of rule.order) {
    const isAlarm = isInside && step === rule.order[0];
    const atoms = (steps[step] as readonly Atom[]).filter((atom) =>
      isAlarm ? here.mayWake(atom) : reader.mayMatch(atom, here),
    );
    const found = atoms.length === 0 ? NOWHERE : locate(atoms, readings);
    if (found.length === 0) return NOWHERE;
    spans[step] = found;
  }
  const before = here.segment.end;
  if (shape.kind === 'any') return spans[0] ?? NOWHERE;
  return shape.kind === 'sequence'
    ? matchSequence(text, spans, shape.gap, shape.stop, before)
    : matchAll(text, spans, shape.within, shape.stop, before);
}

const NOWHERE: readonly Span[] = [];

function locate(atoms: readonly Atom[], readings: readonly SegmentReading[]): readonly Span[] {
  const found = readings.flatMap((reading) => atoms.flatMap((atom) => reading.locate(atom)));
  return atoms.length < 2 ? found : found.sort(bySpan);
}

const bySpan = (a: Span, b: Span): number => a.start - b.start || a.end - b.end;

/** Drops spans that lie wholly inside an exception. An exception holding a span starts no later than the span. */
function dropExcepted(
  spans: readonly Span[],
  except: readonly Atom[],
  { before, here }: Neighbourhood,
  reader: ViewReader,
): readonly Span[] {
  const readings = before ? [before, here] : [here];
  const exceptions = except
    .flatMap((atom) => (isWide(atom) ? reader.locateWide(atom) : locate([atom], readings)))
    .sort(bySpan);
  const sorted = [...spans].sort(bySpan);
  let next = 0;
  let reach = -1;
  return sorted.filter((span) => {
    for (; next < exceptions.length && (exceptions[next] as Span).start <= span.start; next++) {
      reach = Math.max(reach, (exceptions[next] as Span).end);
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
