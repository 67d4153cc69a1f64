import { visit } from 'jsonc-parser';

/** An object of JSON, as a peer sent it. */
export type JsonObject = Readonly<Record<string, unknown>>;
export type MessageId = string | number;

/** One JSON-RPC message by kind. @see https://www.jsonrpc.org/specification */
export type Message =
  | { readonly kind: 'request'; readonly id: MessageId; readonly method: string; readonly raw: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly raw: JsonObject }
  /** `id` is null where the peer could not tell which request it failed. */
  | { readonly kind: 'response'; readonly id: MessageId | null; readonly raw: JsonObject }
  | { readonly kind: 'invalid'; readonly id: MessageId | null; readonly mistake: string };

/** The messages of one line or body. */
export interface ParsedMessages {
  readonly messages: readonly Message[];
  /** Protocol version 2025-03-26 alone has batches. */
  readonly isBatch: boolean;
}

/** Arrays and objects inside one another. */
const MAX_DEPTH = 256;
/** Messages of a batch. */
const MAX_BATCH = 1_000;

/** Names that a reader who ignores their case would take for these. */
const MESSAGE_NAMES = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const RESULT_NAMES = [
  'content',
  'structuredContent',
  'contents',
  'messages',
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'instructions',
  'nextCursor',
];

/**
 * Reads the messages of one line or body. What two readers could read differently is invalid: a repeated name, a name in
 * another case, a message that is both request and response. Mistakes never quote the text.
 */
export function readMessages(text: string): ParsedMessages {
  const value = readJson(text);
  if ('mistake' in value) return { messages: [{ kind: 'invalid', id: null, mistake: value.mistake }], isBatch: false };
  if (!Array.isArray(value.json)) return { messages: [readMessage(value.json)], isBatch: false };
  if (value.json.length > MAX_BATCH) {
    const mistake = `a batch of more than ${MAX_BATCH} messages`;
    return { messages: [{ kind: 'invalid', id: null, mistake }], isBatch: false };
  }
  return { messages: value.json.map(readMessage), isBatch: true };
}

/** The value of a JSON text that every reader reads alike, or what is wrong with it. */
export function readJson(text: string): { readonly json: unknown } | { readonly mistake: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { mistake: 'not valid JSON' };
  }
  // Before `visit`, which calls itself for every level.
  const mistake = measureDepth(text) > MAX_DEPTH ? `nested deeper than ${MAX_DEPTH} levels` : ambiguity(text);
  return mistake === undefined ? { json } : { mistake };
}

/** How many levels a valid JSON text nests. */
function measureDepth(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++depth);
    else if (token === ']' || token === '}') depth -= 1;
  }
  return deepest;
}

function ambiguity(text: string): string | undefined {
  const open: Set<string>[] = [];
  let mistake: string | undefined;
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectProperty: (name) => {
      const names = open.at(-1);
      if (names?.has(name)) mistake ??= 'a name is repeated in one object';
      names?.add(name);
    },
    onObjectEnd: () => void open.pop(),
  });
  return mistake;
}

function readMessage(value: unknown): Message {
  if (!isObject(value)) return { kind: 'invalid', id: null, mistake: 'not an object' };
  const { id, method, result, error } = value;
  const known = isId(id) ? id : null;
  const invalid = (mistake: string): Message => ({ kind: 'invalid', id: known, mistake });
  if (hasOtherCase(value, MESSAGE_NAMES) || (isObject(result) && hasOtherCase(result, RESULT_NAMES)))
    return invalid('a name of the protocol in another case');
  if (method === undefined) {
    if ((result === undefined) === (error === undefined)) return invalid('neither a request nor one response');
    return known === null && id !== undefined && id !== null
      ? invalid('an id that is neither a string nor a number')
      : { kind: 'response', id: known, raw: value };
  }
  if (typeof method !== 'string') return invalid('a method that is no string');
  if (result !== undefined || error !== undefined) return invalid('a request and a response at once');
  if (id === undefined) return { kind: 'notification', method, raw: value };
  return known === null
    ? invalid('an id that is neither a string nor a number')
    : { kind: 'request', id: known, method, raw: value };
}

/** Whether a member's name differs from one of these by its case alone. */
export function hasOtherCase(object: JsonObject, names: readonly string[]): boolean {
  return Object.keys(object).some((name) =>
    names.some((known) => name !== known && name.toLowerCase() === known.toLowerCase()),
  );
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is MessageId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The id in invalid or incomplete JSON, so that its request gets a response; null if none is found. */
export function idIn(text: string): MessageId | null {
  const [, number, string] = /"id"\s*:\s*(?:(-?\d{1,15})\b|"([^"\\]{1,200})")/.exec(text.slice(0, 1_000)) ?? [];
  return number === undefined ? (string ?? null) : Number(number);
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INTERNAL_ERROR = -32_603;
/** The code of a request or response that was refused. */
export const REFUSED = -32_000;

/** An error response. */
export function errorResponse(id: MessageId | null, code: number, message: string, data?: unknown): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
