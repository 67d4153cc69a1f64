import { isOmitted, JsonNumber } from '../engine/canonical-json.js';
import type { Span } from '../engine/span.js';

const REMOVED = '[removed]';

/** Values nested deeper aren't walked: they are screened as JSON, and replaced whole. */
export const MAX_DEPTH = 200;

/**
 * A copy of a value without the given spans of its `inputText`. In a structured value only the insides of strings are cut:
 * its shape stays. Undefined where nothing can be cut, e.g. where a span lies in a member's name.
 */
export function cutSpans<T>(value: T, spans: readonly Span[]): T | undefined {
  const wanted = spans.filter(({ start, end }) => end > start);
  if (wanted.length === 0) return undefined;
  if (typeof value === 'string') return cutText(value, wanted) as T;
  const cut = cutJson(value, 0, wanted, 0);
  return cut?.changed ? (cut.value as T) : undefined;
}

/** A text without spans, which may reach beyond it; their `text` stands in their place. */
export function cutText(text: string, spans: readonly (Span & { readonly text?: string })[]): string {
  const inside = spans
    .map((span) => ({ ...span, start: Math.max(0, span.start), end: Math.min(text.length, span.end) }))
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start);
  let out = '';
  let at = 0;
  for (const { start, end, text: note = REMOVED } of inside) {
    if (start >= at) out += text.slice(at, start) + note;
    at = Math.max(at, end);
  }
  return out + text.slice(at);
}

interface Cut {
  readonly value: unknown;
  /** End of the value's canonical JSON text. */
  readonly end: number;
  readonly changed: boolean;
}

/** Walks a value in the order of its canonical JSON text, which starts at `start`. Undefined for one nested too deep. */
function cutJson(value: unknown, start: number, spans: readonly Span[], depth: number): Cut | undefined {
  if (typeof value === 'string') return cutJsonString(value, start, spans);
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber)
    return { value, end: start + scalarLength(value), changed: false };
  if (depth > MAX_DEPTH) return undefined;
  const isList = Array.isArray(value);
  const names = isList ? [...value.keys()] : Object.keys(value).sort();
  const members = new Map<string | number, unknown>();
  let at = start + 1;
  let changed = false;
  for (const name of names) {
    const member = (value as Record<string | number, unknown>)[name];
    if (!isList && isOmitted(member)) continue;
    if (members.size > 0) at += 1;
    if (!isList) at += JSON.stringify(name).length + 1;
    const cut = cutJson(isOmitted(member) ? null : member, at, spans, depth + 1);
    if (cut === undefined) return undefined;
    members.set(name, cut.value);
    at = cut.end;
    changed ||= cut.changed;
  }
  const cutValue = isList
    ? [...members.values()]
    : Object.fromEntries(Object.keys(value).flatMap((name) => (members.has(name) ? [[name, members.get(name)]] : [])));
  return { value: cutValue, end: at + 1, changed };
}

function cutJsonString(text: string, start: number, spans: readonly Span[]): Cut {
  const end = start + JSON.stringify(text).length;
  const touching = spans.filter((span) => span.start < end - 1 && span.end > start + 1);
  if (touching.length === 0) return { value: text, end, changed: false };
  const inText = touching.map((span) => ({ start: span.start - start - 1, end: span.end - start - 1 }));
  return { value: cutText(text, unescaped(text, inText)), end, changed: true };
}

/**
 * Spans of a string's JSON text as spans of the string, grown to whole code points. One walk for all of them: a walk for each
 * would take minutes for many findings in a long string.
 */
function unescaped(text: string, spans: readonly Span[]): readonly Span[] {
  const edges = spans.flatMap(({ start, end }, index) => [
    { offset: start, index, isEnd: false, unit: text.length },
    { offset: end, index, isEnd: true, unit: text.length },
  ]);
  let at = 0;
  let unit = 0;
  for (const edge of [...edges].sort((a, b) => a.offset - b.offset)) {
    while (unit < text.length) {
      const [units, escaped] = escapedLength(text, unit);
      const isReached = edge.isEnd ? at >= edge.offset : at + escaped > edge.offset;
      if (isReached) break;
      at += escaped;
      unit += units;
    }
    edge.unit = unit;
  }
  return spans.map((_, index) => ({
    start: edges[2 * index]?.unit ?? text.length,
    end: edges[2 * index + 1]?.unit ?? text.length,
  }));
}

/** The code units of the code point at `unit`, and those of its form in a JSON text. */
function escapedLength(text: string, unit: number): readonly [units: number, escaped: number] {
  const code = text.codePointAt(unit) ?? 0;
  if (code < 0x20) return [1, '\b\t\n\f\r'.includes(text.charAt(unit)) ? 2 : 6];
  if (code === 0x22 || code === 0x5c) return [1, 2];
  if (code > 0xffff) return [2, 2];
  return code < 0xd800 || code > 0xdfff ? [1, 1] : [1, 6];
}

function scalarLength(value: unknown): number {
  if (value instanceof JsonNumber) return value.text.length;
  return typeof value === 'bigint' ? value.toString().length : (JSON.stringify(value) ?? 'null').length;
}

/** A copy of a value of plain objects and arrays with other strings. */
export function mapStrings(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (!isContainer(value) || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapStrings(item, change, depth + 1)]));
}

/** An array or a plain object; a number of many digits is an object of its own. */
export function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
}
