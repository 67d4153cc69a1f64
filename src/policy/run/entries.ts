import type { Span } from '../../engine/span.js';
import { type Link, linksIn } from './output/links.js';
import type { DigestedEntry, Entry, GivenDigests, Origin, RunState, UntrustedDigests, Value } from './run-state.js';
import { foldedViews } from './values/folded.js';
import { formsOf, lettersOf, MIN_LETTERS } from './values/value-forms.js';
import { placedValues, wordsIn } from './values/values.js';

const MAX_VALUES = 32_768;
const MAX_SOURCES = 4_096;
const MAX_ENTRIES = 16_384;

/**
 * Adds an entry to a state and returns it. Depends on nothing but its arguments, and an entry that is there adds nothing: step
 * by step or from all messages at once, the state is the same. Linear in the text.
 */
export function addEntry(state: RunState, entry: Entry): RunState {
  const digested = digestEntry(state, entry);
  return digested === undefined ? state : addDigested(state, digested);
}

/** The digests of an entry that came in at a time; undefined for one that is there. Reads nothing else of the state than its seed. */
export function digestEntry({ seed, entries }: RunState, entry: Entry, time?: string): DigestedEntry | undefined {
  const suspicious = entry.role === 'untrusted' ? entry.suspicious : [];
  const key = digestOf(`${entry.role}\0${suspicious.length}\0${entry.text}`, seed);
  if (entries.has(key)) return undefined;
  if (entry.role !== 'untrusted') return { role: entry.role, key, ...givenValues(entry, seed) };
  const { role, tool, evidenceId } = entry;
  const probabilities = suspicious.map(({ probability }) => probability);
  return { role, key, tool, evidenceId, time, probabilities, ...untrustedValues(entry, seed) };
}

/** Adds the digests of an entry, which may come from another process. */
export function addDigested(state: RunState, entry: DigestedEntry): RunState {
  if (state.entries.has(entry.key)) return state;
  put(state.entries, entry.key, true, MAX_ENTRIES);
  if (entry.role === 'untrusted') addUntrusted(state, entry);
  else
    for (const [at, value] of entry.values.entries()) {
      const forms = [value].flat();
      if (entry.role === 'trusted') for (const form of forms) put(state.trusted, form, true, MAX_VALUES);
      // The model repeats data in its calls; what it brought in itself may come back as a result.
      else if (!isFromData(state, forms, entry.domains?.[at] ?? []))
        for (const form of forms)
          put(state.own, form, entry.role === 'call' || state.own.get(form) === true, MAX_VALUES);
    }
  return state;
}

/** Whether the user, the operator or the model itself brought in a value. */
function isGiven(state: RunState, key: number): boolean {
  return state.trusted.has(key) || state.own.has(key);
}

/** Whether a value stood in data, or is at a host or below a domain that did and that nobody else named. */
function isFromData(state: RunState, forms: readonly number[], domains: readonly number[]): boolean {
  const stood = (key: number): boolean => state.suspicious.has(key) || state.foreign.has(key);
  const domain = domains.find((key) => isGiven(state, key) || stood(key));
  return forms.some(stood) || (domain !== undefined && !isGiven(state, domain));
}

export function valueKey({ seed }: Pick<RunState, 'seed'>, { kind, text }: Pick<Value, 'kind' | 'text'>): number {
  return digestOf(kind === 'words' ? text : `\0${text}`, seed);
}

export function hostKey(state: Pick<RunState, 'seed'>, host: string): number {
  return valueKey(state, { kind: 'host', text: host });
}

/** The digests of a link: the whole of it, its host, and the domain of that where it has a longer name. */
export function linkKeys(
  state: Pick<RunState, 'seed'>,
  { url, host }: Pick<Link, 'url' | 'host'>,
): { readonly whole: number; readonly host: number; readonly domain: number } {
  const name = /^[\w.-]*$/.test(host) ? host : (foldedViews(host)[0]?.text ?? host);
  const domain = /^[\d.]+$/.test(name)
    ? name
    : (/(?:[^.]+\.)?[^.]{1,3}\.[^.]{2}$|[^.]+\.[^.]+$/.exec(name)?.[0] ?? name);
  const whole = url.href.replace(/[/#?]+$/, '').replace(/^(\w+:\/\/)www\./, '$1');
  return {
    whole: valueKey(state, { kind: 'url', text: `\0${whole}` }),
    host: hostKey(state, name),
    domain: valueKey(state, { kind: 'host', text: `\0${domain}` }),
  };
}

/** Finds the first place of a value: in a suspicious passage, else anywhere in untrusted data. */
export function findOrigin(state: RunState, key: number): Origin | undefined {
  const place = state.suspicious.get(key) ?? state.foreign.get(key);
  if (place === undefined) return undefined;
  const { source, span } = readPlace(place);
  const { tool, evidenceId, time, probability } = state.sources.get(source) ?? {};
  return { tool, evidenceId, time, probability: state.suspicious.has(key) ? (probability ?? 1) : undefined, span };
}

function givenValues(
  { role, text }: Pick<Entry, 'role' | 'text'>,
  seed: number,
): Pick<GivenDigests, 'values' | 'domains'> {
  const keys = new Map<number, number | readonly number[]>();
  const domains = new Map<number, readonly number[]>();
  const add = (forms: readonly number[], hosts: readonly string[] = []): void => {
    const [first] = forms;
    if (first === undefined || (keys.has(first) && forms.length === 1)) return;
    put(keys, first, forms.length === 1 ? first : forms, MAX_VALUES);
    if (role !== 'trusted' && hosts.length > 0)
      domains.set(
        first,
        hosts.flatMap((host) => domainsOf(host).map((domain) => hostKey({ seed }, domain))),
      );
  };
  for (const view of foldedViews(text)) {
    for (const { value, written } of placedValues(view, text)) {
      const { texts, hosts } = formsOf(value, written);
      // A host in other letters was given, not the one that it is folded to.
      const given =
        role === 'trusted' && hosts.length > 1
          ? { texts: texts.slice(0, 1), hosts: hosts.slice(0, 1) }
          : { texts, hosts };
      for (const host of given.hosts) add([hostKey({ seed }, host)], [host]);
      add(keysOf(value, given.texts, seed), given.hosts);
    }
    for (const words of wordsIn(view.text)) add([valueKey({ seed }, words)]);
  }
  const values = [...keys.values()];
  if (domains.size === 0) return { values };
  return { values, domains: [...keys.keys()].map((key) => domains.get(key) ?? []) };
}

export function domainsOf(host: string): readonly string[] {
  const labels = host.split('.');
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'));
}

/** The digests of a value: of its forms, and of its letters, by which it is found where it is split. */
function keysOf({ kind, text }: Value, texts: readonly string[], seed: number): readonly number[] {
  const keys = texts.map((each) => valueKey({ seed }, { kind, text: each }));
  if (kind === 'url' || kind === 'handle') return keys;
  const letters = lettersOf(text);
  if (letters.length >= MIN_LETTERS && letters !== text) keys.push(valueKey({ seed }, { kind, text: letters }));
  return keys;
}

/** Places count the sources of the entry alone: 0 is the text, 1 its first passage. */
function untrustedValues(
  { text, suspicious: passages }: Extract<Entry, { readonly role: 'untrusted' }>,
  seed: number,
): Pick<UntrustedDigests, 'foreign' | 'suspicious'> {
  const foreign = new Map<number, number>();
  const suspicious = new Map<number, number>();
  const addSuspicious = (key: number, span: Span): void => {
    const at = passages.findIndex(({ start, end }) => start < span.end && span.start < end);
    if (at >= 0) addFirst(suspicious, key, writePlace(at + 1, span));
  };
  const add = (key: number, span: Span): void => {
    addFirst(foreign, key, writePlace(0, span));
    addSuspicious(key, span);
  };
  for (const link of linksIn(text)) for (const key of Object.values(linkKeys({ seed }, link))) add(key, link);
  for (const view of foldedViews(text)) {
    for (const { value, span, written } of placedValues(view, text)) {
      const { texts } = formsOf(value, written);
      for (const key of keysOf(value, texts, seed)) add(key, span);
    }
    if (passages.length === 0) continue;
    for (const words of wordsIn(view.text)) addSuspicious(valueKey({ seed }, words), view.toText(words));
  }
  return { foreign: [...foreign], suspicious: [...suspicious] };
}

function addUntrusted(
  state: RunState,
  { tool, evidenceId, time, probabilities, foreign, suspicious }: UntrustedDigests,
): void {
  const first = state.nextSource;
  for (const probability of [undefined, ...probabilities]) {
    put(state.sources, state.nextSource, { tool, evidenceId, time, probability }, MAX_SOURCES);
    state.nextSource += 1;
  }
  for (const [key, place] of foreign) addFirst(state.foreign, key, movePlace(place, first));
  for (const [key, place] of suspicious) addFirst(state.suspicious, key, movePlace(place, first));
}

function addFirst(places: Map<number, number>, key: number, place: number): void {
  if (!places.has(key)) put(places, key, place, MAX_VALUES);
}

/** Iterators at the oldest member of a full map: a new one passes all places that deleted members have left. */
const oldest = new WeakMap<Map<number, unknown>, Iterator<number>>();

/** Sets a member of a bounded map, which forgets the oldest. */
function put<V>(map: Map<number, V>, key: number, value: V, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  const keys = oldest.get(map) ?? map.keys();
  oldest.set(map, keys);
  map.delete(keys.next().value);
}

// A place is one number, source · start · length, since a run has many of them.
const SOURCE_UNIT = 2 ** 34;
const START_UNIT = 2 ** 10;
const SOURCES = 2 ** 19;

function writePlace(source: number, { start, end }: Span): number {
  const length = Math.min(end - start, START_UNIT - 1);
  return (source % SOURCES) * SOURCE_UNIT + Math.min(start, 2 ** 24 - 1) * START_UNIT + length;
}

export function sourceOf(place: number): number {
  return Math.floor(place / SOURCE_UNIT);
}

/** A place whose sources are counted from `first` on. */
function movePlace(place: number, first: number): number {
  const source = (sourceOf(place) + first) % SOURCES;
  return source * SOURCE_UNIT + (place % SOURCE_UNIT);
}

function readPlace(place: number): { readonly source: number; readonly span: Span } {
  const start = Math.floor((place % SOURCE_UNIT) / START_UNIT);
  return { source: sourceOf(place), span: { start, end: start + (place % START_UNIT) } };
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
