import type { Span } from '../../index.js';
import { foldedViews } from './folded.js';
import type { Entry, Origin, RunState } from './run-state.js';
import { type Value, valuesIn, wordsIn } from './values.js';

const MAX_VALUES = 32_768;
const MAX_SOURCES = 4_096;
const MAX_ENTRIES = 16_384;

/**
 * Adds an entry to a state and returns it. Depends on nothing but its arguments, and an entry that is there adds nothing: step
 * by step or from all messages at once, the state is the same. Linear in the text.
 */
export function addEntry(state: RunState, entry: Entry): RunState {
  const suspicious = entry.role === 'untrusted' ? entry.suspicious : [];
  const key = digestOf(`${entry.role}\0${suspicious.length}\0${entry.text}`, state.seed);
  if (state.entries.has(key)) return state;
  put(state.entries, key, true, MAX_ENTRIES);
  if (entry.role === 'untrusted') addUntrusted(state, entry);
  else for (const value of trustedValues(state, entry)) put(state.trusted, value, true, MAX_VALUES);
  return state;
}

/** The digest of a value in a state's maps. */
export function valueKey({ seed }: RunState, { kind, text }: Pick<Value, 'kind' | 'text'>): number {
  return digestOf(kind === 'words' ? text : `\0${text}`, seed);
}

/** The digest of the host of a value. */
export function hostKey(state: RunState, host: string): number {
  return valueKey(state, { kind: 'host', text: host });
}

/** Where a value stood, if it did: in a suspicious passage, else anywhere in untrusted data. */
export function findOrigin(state: RunState, key: number): Origin | undefined {
  const place = state.suspicious.get(key) ?? state.foreign.get(key);
  if (place === undefined) return undefined;
  const { source, span } = readPlace(place);
  const { tool, evidenceId, probability } = state.sources.get(source) ?? {};
  return { tool, evidenceId, probability: state.suspicious.has(key) ? (probability ?? 1) : undefined, span };
}

function trustedValues(state: RunState, { role, text }: Entry): readonly number[] {
  const keys = foldedViews(text).flatMap((view) => {
    const values = [...valuesIn(view.text), ...wordsIn(view.text)];
    return values.flatMap((value) => {
      const own = valueKey(state, value);
      return value.host === undefined ? [own] : [own, hostKey(state, value.host)];
    });
  });
  // The model repeats data in its calls; what it brought in itself may come back as a result.
  return role === 'call' ? keys.filter((key) => !state.suspicious.has(key) && !state.foreign.has(key)) : keys;
}

function addUntrusted(state: RunState, entry: Extract<Entry, { readonly role: 'untrusted' }>): void {
  const { tool, evidenceId, suspicious } = entry;
  const addSource = (probability: number | undefined): number => {
    const id = state.nextSource;
    state.nextSource += 1;
    put(state.sources, id, { tool, evidenceId, probability }, MAX_SOURCES);
    return id;
  };
  const source = addSource(undefined);
  const passages = suspicious.map((passage) => ({ ...passage, source: addSource(passage.probability) }));
  for (const view of foldedViews(entry.text)) {
    for (const value of valuesIn(view.text)) {
      const span = view.toText(value);
      const key = valueKey(state, value);
      addFirst(state.foreign, key, source, span);
      const passage = passages.find((each) => overlap(each, span));
      if (passage !== undefined) addFirst(state.suspicious, key, passage.source, span);
    }
    if (passages.length === 0) continue;
    for (const words of wordsIn(view.text)) {
      const span = view.toText(words);
      const passage = passages.find((each) => overlap(each, span));
      if (passage !== undefined) addFirst(state.suspicious, valueKey(state, words), passage.source, span);
    }
  }
}

function overlap(a: Span, b: Span): boolean {
  return a.start < b.end && b.start < a.end;
}

function addFirst(places: Map<number, number>, key: number, source: number, span: Span): void {
  if (!places.has(key)) put(places, key, writePlace(source, span), MAX_VALUES);
}

/** Sets a member of a bounded map, which forgets the oldest. */
function put<V>(map: Map<number, V>, key: number, value: V, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

// A place is one number, source · start · length, since a run has many of them.
const SOURCE_UNIT = 2 ** 34;
const START_UNIT = 2 ** 10;

function writePlace(source: number, { start, end }: Span): number {
  const length = Math.min(end - start, START_UNIT - 1);
  return (source % 2 ** 19) * SOURCE_UNIT + Math.min(start, 2 ** 24 - 1) * START_UNIT + length;
}

function readPlace(place: number): { readonly source: number; readonly span: Span } {
  const start = Math.floor((place % SOURCE_UNIT) / START_UNIT);
  return { source: Math.floor(place / SOURCE_UNIT), span: { start, end: start + (place % START_UNIT) } };
}

/** A digest of 53 bits: FNV-1a with a multiply-and-shift beside it, both seeded. */
function digestOf(text: string, seed: number): number {
  let low = seed ^ 0x811c9dc5;
  let high = Math.imul(seed, 0x9e3779b1);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high + unit, 0x85ebca6b);
    high ^= high >>> 15;
  }
  return (low >>> 0) + (high & 0x1fffff) * 2 ** 32;
}
