import type { Span } from '../../engine/span.js';
import type { RecordView } from '../ports.js';

/** Flow of a value into an argument, as its record tells it. */
export type RecordedFlow = NonNullable<NonNullable<RecordView['run']>['flow']>['flows'][number];

/** Place of a flow: the record of the call, and which of its flows. */
export interface FlowPlace {
  readonly call: string;
  readonly index: number;
  readonly flow: RecordedFlow;
  readonly tool: string | undefined;
}

/** Part of a text whose values went into calls. */
export interface RunPassage {
  readonly span: Span;
  /** In the order of the calls. */
  readonly into: readonly FlowPlace[];
}

export interface RunStep {
  readonly record: RecordView;
  /** By where they begin. */
  readonly passages: readonly RunPassage[];
}

/** The steps of a run in the order of time. `newestFirst`: its records as lists have them. */
export function runSteps(newestFirst: readonly RecordView[]): readonly RunStep[] {
  const records = [...newestFirst].reverse();
  const passages = new Map<string, Map<string, { readonly span: Span; readonly into: FlowPlace[] }>>();
  for (const place of records.flatMap(flowPlaces)) {
    const { evidenceId, span } = place.flow.source;
    if (evidenceId === undefined) continue;
    const ofText = passages.get(evidenceId) ?? new Map<string, { span: Span; into: FlowPlace[] }>();
    const passage = ofText.get(`${span.start} ${span.end}`) ?? { span, into: [] };
    passage.into.push(place);
    ofText.set(`${span.start} ${span.end}`, passage);
    passages.set(evidenceId, ofText);
  }
  return records.map((record) => ({
    record,
    passages: [...(passages.get(record.id)?.values() ?? [])].sort((a, b) => a.span.start - b.span.start),
  }));
}

function flowPlaces({ id, run }: RecordView): readonly FlowPlace[] {
  return run?.flow?.flows.map((flow, index) => ({ call: id, index, flow, tool: run.tool })) ?? [];
}

/** The name of a passage's element in the page. */
export function passageName(evidenceId: string, { start, end }: Span): string {
  return `passage-${evidenceId}-${start}-${end}`;
}

/** The name of an argument's element in the page. */
export function argumentName({ call, index }: Pick<FlowPlace, 'call' | 'index'>): string {
  return `argument-${call}-${index}`;
}

/** A line from a passage to an argument: middles of both, in CSS pixels from the top, and the lane that it takes. */
export interface FlowLine {
  readonly key: string;
  readonly level: RecordedFlow['level'];
  readonly from: number;
  readonly to: number;
  /** 0 is the innermost. */
  readonly lane: number;
}

/** Gives each line the innermost lane that is free over its whole length; beyond the last lane they share it. */
export function laneLines(lines: readonly Omit<FlowLine, 'lane'>[], lanes: number): readonly FlowLine[] {
  const ends: number[] = [];
  return [...lines]
    .sort((a, b) => Math.min(a.from, a.to) - Math.min(b.from, b.to))
    .map((line) => {
      const top = Math.min(line.from, line.to);
      const free = ends.findIndex((end) => end < top);
      const lane = Math.min(free < 0 ? ends.length : free, lanes - 1);
      ends[lane] = Math.max(ends[lane] ?? 0, line.from, line.to);
      return { ...line, lane };
    });
}

/** The value at an argument of a call, as text; undefined where it isn't there. `text`: the JSON that was kept of the call. */
export function argumentText(text: string, argument: string): string | undefined {
  const call = parsed(text);
  if (typeof call !== 'object' || call === null) return undefined;
  const args = 'arguments' in call ? call.arguments : call;
  const root = typeof args === 'string' ? (parsed(args) ?? args) : args;
  const values = argument.split(' and ').map((path) => valueAt(root, path));
  if (values.includes(undefined)) return undefined;
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' … ');
}

/** Of masked texts some are no JSON any more. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function valueAt(root: unknown, path: string): unknown {
  const names = path.match(/[^.[\]]+/g) ?? [];
  return names.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    root,
  );
}
