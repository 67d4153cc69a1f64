import { isOmitted, JsonNumber } from '../engine/canonical-json.js';
import { InputError } from '../engine/errors.js';
import { type Input, JsonText, toJsonText } from '../engine/input.js';
import type { Span } from '../engine/span.js';
import { type BinaryKind, type Encoded, readBrokenBase64, readBytes, readEncoded } from './encoded-text.js';
import { cutSpans, cutText, MAX_DEPTH } from './redact.js';

/** Content that could not be read: binary data by its kind, and what gives its text only later. */
export type Unreadable = BinaryKind | 'stream';

/** A content value of any host, as it is screened. */
export interface Content {
  /** Each is screened on its own: the texts joined, with and without a separator, and the rest as JSON. */
  readonly inputs: readonly Input[];
  /** Kinds of the parts that could not be read, each once. */
  readonly unreadable: readonly Unreadable[];
  /** A copy without the spans of an input; undefined where they can't be cut. */
  cut(input: Input, spans: readonly Span[]): unknown;
  /** A copy whose text blocks, `{ type, text }`, are changed by a function. */
  mapBlocks(change: (text: string) => string): unknown;
}

/** A text within a value. */
interface Part {
  readonly text: string;
  readonly isBlock: boolean;
  /** The member's value with another text; undefined where it can't be written. */
  readonly write: ((text: string) => unknown) | undefined;
}

/** Origin of a container of the rest. */
interface Origin {
  readonly given: unknown;
  /** The container whose members it has; undefined for one that can't be written, e.g. a map. */
  readonly source: object | undefined;
  /** The texts taken out of it, by member. */
  readonly parts: Map<string, Part>;
}

type Members = Readonly<Record<string, unknown>>;

/** Members whose values are words of a protocol, where they look like it. */
const PROTOCOL_WORDS = new Set(['type', 'mimeType', 'role', 'resultType', 'lastModified', 'audience']);
const WORD = /^[\w./+:-]{0,40}$/;
const MEDIA_TYPES = ['mediaType', 'mimeType', 'media_type', 'mime_type', 'contentType', 'content_type'];

/**
 * Reads a value of any shape. Strings in lists and members named `text` are texts, and so is what base64, data URLs and
 * bytes say; maps, headers, errors and other objects are read by their members. All else is read as JSON. `asJson` leaves
 * the texts in the JSON: the arguments and the definition of a tool are one structure.
 *
 * @throws InputError for a value that holds itself
 */
export function readContent(value: unknown, asJson: boolean): Content {
  if (typeof value === 'string') return readText(value);
  const { rest, parts, origins, unreadable } = readParts(value, asJson);
  const json = asJson || hasWords(rest.value) ? toJsonText(rest.value as Exclude<Input, string>) : undefined;
  const texts = parts.map(({ text }) => text);
  const spaced = texts.join('\n');

  const withTexts = (shown: (part: Part) => string): unknown =>
    readValue(merge(rest, rest, origins, new Map(parts.map((part) => [part, shown(part)]))));

  return {
    inputs: listInputs(spaced, isSplit(texts) ? texts.join('') : undefined, json),
    unreadable: [...unreadable],
    cut(input, spans) {
      if (typeof input !== 'string') {
        const kept = cutSpans(
          rest,
          spans.map(({ start, end }) => ({ start: start + HEAD, end: end + HEAD })),
        );
        return kept === undefined ? undefined : readValue(merge(rest, kept, origins, new Map()));
      }
      let start = 0;
      return withTexts(({ text }) => {
        const inside = spans.map((span) => ({ start: span.start - start, end: span.end - start }));
        start += text.length + (input.length === spaced.length ? 1 : 0);
        return cutText(text, inside);
      });
    },
    mapBlocks: (change) => withTexts(({ text, isBlock }) => (isBlock ? change(text) : text)),
  };
}

/** Length of `{"value":`, within which the rest stands. */
const HEAD = 9;

function readText(text: string): Content {
  return {
    inputs: listInputs(text),
    unreadable: [],
    cut: (_, spans) => cutSpans(text, spans),
    mapBlocks: (change) => change(text),
  };
}

/** Each input, and again with a space for each NUL, which some readers drop and others take for white space. */
function listInputs(...given: readonly (string | JsonText | undefined)[]): readonly Input[] {
  return given.flatMap((input): readonly Input[] => {
    if (input === undefined || input === '') return [];
    if (typeof input === 'string') return input.includes('\0') ? [input, input.replaceAll('\0', ' ')] : [input];
    const { text, isToolCall } = input;
    return text.includes('\\u0000')
      ? [input, new JsonText(text.replaceAll('\\u0000', '\\u0020'), isToolCall)]
      : [input];
  });
}

/** Whether a part begins where a word or a code of the part before it may go on. */
function isSplit(texts: readonly string[]): boolean {
  return texts.some(
    (text, index) => index > 0 && /^[\p{L}\p{M}\p{N}+/=_-]/u.test(text) && !/\s$/.test(texts[index - 1] ?? ''),
  );
}

interface Reading {
  readonly asJson: boolean;
  readonly parts: Part[];
  readonly unreadable: Set<Unreadable>;
  readonly origins: Map<unknown, Origin>;
  /** The objects around the one that is being read. */
  readonly open: Set<object>;
}

interface Place {
  readonly name: string;
  readonly inList: boolean;
  readonly inBlock: boolean;
  /** Beside the member, or beside an object that it is in. */
  readonly mediaType: string | undefined;
  readonly depth: number;
}

/** Takes the texts out of a value. The rest is plain JSON, in the member `value`. */
function readParts(value: unknown, asJson: boolean): Reading & { readonly rest: Members } {
  const reading = { asJson, parts: [], unreadable: new Set<Unreadable>(), origins: new Map(), open: new Set<object>() };
  const root = { name: '', inList: false, inBlock: false, mediaType: undefined, depth: -1 };
  const given = { value };
  return { ...reading, rest: readMembers(reading, given, given, given, root) as Members };
}

/** The rest of an object by the members of `members`, which is `source` or a copy of what it holds. */
function readMembers(
  reading: Reading,
  given: object,
  source: object | undefined,
  members: object,
  place: Place,
): object {
  if (reading.open.has(given)) throw new InputError('INPUT_CIRCULAR');
  reading.open.add(given);
  const inList = Array.isArray(members);
  const { type } = members as Members;
  const typed = reading.asJson ? undefined : MEDIA_TYPES.find((name) => typeof (members as Members)[name] === 'string');
  const mediaType = typed === undefined ? place.mediaType : ((members as Members)[typed] as string);
  const parts = new Map<string, Part>();
  const inBlock = typeof type === 'string';
  const rest: Record<string, unknown> | unknown[] = inList ? [] : {};
  const keep = (name: string, value: unknown): void => {
    if (Array.isArray(rest)) rest.push(value);
    else if (name === '__proto__') Object.defineProperty(rest, name, { value, enumerable: true });
    else rest[name] = value;
  };
  for (const name of Object.keys(members)) {
    const member = (members as Members)[name];
    if (isOmitted(member)) {
      if (inList) keep(name, null);
      continue;
    }
    const read = readMember(reading, member, {
      name: inList ? place.name : name,
      inList,
      inBlock,
      mediaType,
      depth: place.depth + 1,
    });
    keep(name, read instanceof Taken ? '' : read);
    if (!(read instanceof Taken) || read.part === undefined) continue;
    parts.set(name, read.part);
    reading.parts.push(read.part);
  }
  reading.open.delete(given);
  reading.origins.set(rest, { given, source, parts });
  return rest;
}

/** A member that is taken out of the rest: a text, or nothing that can be read. */
class Taken {
  readonly part: Part | undefined;

  constructor(part?: Part) {
    this.part = part;
  }
}

function readMember(reading: Reading, value: unknown, place: Place): unknown {
  if (typeof value === 'string') return readString(reading, value, place);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof JsonNumber || value instanceof JsonText || place.depth > MAX_DEPTH) return value;
  const bytes = bytesOf(value);
  if (bytes !== undefined) return take(reading, readBytes(bytes, place.mediaType));
  if (isReadLater(value)) {
    reading.unreadable.add('stream');
    return new Taken();
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON() ?? null;
    if (typeof json !== 'object' || json === null) return readMember(reading, json, place);
    return readMembers(reading, value, json, json, place);
  }
  const copy = copyMembers(value);
  return readMembers(reading, value, copy === undefined ? value : undefined, copy ?? value, place);
}

function readString(reading: Reading, text: string, place: Place): unknown {
  if (reading.asJson || text === '') return text;
  const encoded = readEncoded(text, place.name, place.mediaType);
  if (encoded !== undefined) return take(reading, encoded);
  const sentences = readBrokenBase64(text, place.name, place.mediaType);
  // The string itself stays where it is: another reader takes it for words.
  if (sentences !== undefined) reading.parts.push({ text: sentences, isBlock: false, write: undefined });
  const isText = place.inList ? !isProtocolWord(text, place.name) : place.name === 'text';
  if (!isText) return text;
  return new Taken({ text, isBlock: place.inBlock && !place.inList, write: (shown) => shown });
}

function take(reading: Reading, { text, unreadable, write }: Encoded): Taken {
  if (unreadable !== undefined) reading.unreadable.add(unreadable);
  return new Taken(text === undefined ? undefined : { text, isBlock: false, write });
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer ? new Uint8Array(value) : undefined;
}

/** Whether a value gives its text only later: as JSON it is `{}`, and what was screened would not be what is read. */
export function isReadLater(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Symbol.asyncIterator in value || ('then' in value && typeof value.then === 'function')) return true;
  if (value instanceof Response || value instanceof Request || value instanceof Blob) return true;
  return Symbol.iterator in value && 'next' in value && typeof value.next === 'function';
}

/** The members of an object that JSON leaves out: those of a map, set, form or error, and the text that its class makes of it. */
function copyMembers(value: object): object | undefined {
  if (Array.isArray(value)) return undefined;
  if (value instanceof Error) {
    const names = Object.getOwnPropertyNames(value) as (keyof Error)[];
    return Object.fromEntries([['name', value.name], ...names.map((name) => [name, value[name]])]);
  }
  if (Symbol.iterator in value && 'entries' in value) return [...(value as Iterable<unknown>)];
  if (value instanceof String) return [String(value)];
  const written = (value as { toString?: unknown }).toString;
  const isOwn = typeof written === 'function' && written !== Object.prototype.toString;
  return isOwn && !Object.hasOwn(value, 'toString') ? [String(value), { ...value }] : undefined;
}

/** Whether a value has a string or a name that isn't a word of a protocol. */
function hasWords(value: unknown, name = '', depth = 0): boolean {
  if (typeof value === 'string') return value !== '' && !isProtocolWord(value, name);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(value)) return value.some((item) => hasWords(item, name, depth + 1));
  return Object.entries(value).some(
    ([member, inner]) => !/^[\w$./-]{1,24}$/.test(member) || hasWords(inner, member, depth + 1),
  );
}

function isProtocolWord(text: string, name: string): boolean {
  return PROTOCOL_WORDS.has(name) && WORD.test(text);
}

const UNWRITABLE = Symbol('unwritable');

/** The original of `rest` with the members that differ in `kept`, and with the texts as they are shown. */
function merge(
  rest: object,
  kept: object,
  origins: ReadonlyMap<unknown, Origin>,
  shown: ReadonlyMap<Part, string>,
): unknown {
  const { given, source, parts } = origins.get(rest) as Origin;
  const changes = Object.entries(rest).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
    const part = parts.get(name);
    if (part !== undefined) {
      const text = shown.get(part) ?? part.text;
      return text === part.text ? [] : [[name, part.write === undefined ? UNWRITABLE : part.write(text)]];
    }
    const after = (kept as Members)[name];
    const origin = origins.get(member);
    if (origin === undefined) return Object.is(after, member) ? [] : [[name, after]];
    const merged = merge(member as object, after as object, origins, shown);
    return merged === origin.given ? [] : [[name, merged]];
  });
  if (changes.length === 0) return given;
  if (source === undefined || changes.some(([, after]) => after === UNWRITABLE)) return UNWRITABLE;
  return Object.assign(Array.isArray(source) ? [...source] : { ...source }, Object.fromEntries(changes));
}

function readValue(merged: unknown): unknown {
  return merged === UNWRITABLE ? undefined : (merged as { value: unknown }).value;
}
