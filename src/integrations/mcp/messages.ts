import { readJson } from '../../engine/read-json.js';
import { isObject, type JsonObject } from '../json-value.js';

export type MessageId = string | number;

/** One JSON-RPC message by kind. @see https://www.jsonrpc.org/specification */
export type Message =
  | { readonly kind: 'request'; readonly id: MessageId; readonly method: string; readonly raw: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly raw: JsonObject }
  /** `id` is null where the peer could not tell which request it failed. */
  | { readonly kind: 'response'; readonly id: MessageId | null; readonly raw: JsonObject }
  /** `isResponse`: one that names no request, so that it could be to any. */
  | {
      readonly kind: 'invalid';
      readonly id: MessageId | null;
      readonly mistake: string;
      readonly isResponse?: boolean | undefined;
    };

/** The messages of one line or body. */
export interface ParsedMessages {
  readonly messages: readonly Message[];
  /** Protocol version 2025-03-26 alone has batches. */
  readonly isBatch: boolean;
  /** As it was written, without white space between its tokens: numbers keep all their digits. */
  readonly text: string;
}

/** Arrays and objects inside one another. */
const MAX_DEPTH = 256;
/** Messages of a batch. */
const MAX_BATCH = 1_000;

const NO_ID = 'an id that is neither a string nor a number';

/** Names that a reader who ignores their case would take for these. */
const MESSAGE_NAMES = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const RESULT_NAMES =
  'content structuredContent contents messages tools prompts resources resourceTemplates instructions nextCursor'.split(
    ' ',
  );

/**
 * Reads the messages of one line or body. What two readers could read differently is invalid: a repeated name, a name in
 * another case, a message that is both request and response. Mistakes never quote the text.
 */
export function readMessages(text: string): ParsedMessages {
  const value = readMessageJson(text);
  const invalid = (mistake: string): ParsedMessages => {
    // It may have been meant as a response: its request shouldn't wait for ever.
    const id = /"method"\s*:/.test(text.slice(0, 1_000)) ? null : idIn(text);
    return { messages: [{ kind: 'invalid', id, mistake }], isBatch: false, text };
  };
  if ('mistake' in value) return invalid(value.mistake);
  const { json, text: written } = value;
  if (!Array.isArray(json)) return { messages: [readMessage(json)], isBatch: false, text: written };
  if (json.length > MAX_BATCH) return invalid(`a batch of more than ${MAX_BATCH} messages`);
  return { messages: json.map(readMessage), isBatch: true, text: written };
}

/** The value of a JSON text that every reader reads alike and the text without white space, or what is wrong with it. */
export function readMessageJson(
  text: string,
): { readonly json: unknown; readonly text: string } | { readonly mistake: string } {
  const reading = readJson(text, { depth: MAX_DEPTH });
  if ('problem' in reading)
    return { mistake: reading.problem === 'depth' ? `nested deeper than ${MAX_DEPTH} levels` : 'not valid JSON' };
  if (reading.repeated !== undefined) return { mistake: 'a name is repeated in one object' };
  return { json: reading.value, text: reading.text };
}

export function readMessage(value: unknown): Message {
  if (!isObject(value)) return { kind: 'invalid', id: null, mistake: 'not an object' };
  const { id, method, result, error } = value;
  // A list of one id is answered as that id, so that its request doesn't wait.
  const known = isId(id) ? id : Array.isArray(id) && isId(id[0]) ? id[0] : null;
  const invalid = (mistake: string): Message => ({ kind: 'invalid', id: known, mistake });
  if (hasOtherCase(value, MESSAGE_NAMES) || (isObject(result) && hasOtherCase(result, RESULT_NAMES)))
    return invalid('a name of the protocol in another case');
  if (Object.keys(value).some((name) => !MESSAGE_NAMES.includes(name))) return invalid('a member that no message has');
  if (method === undefined) {
    if ((result === undefined) === (error === undefined)) return invalid('neither a request nor one response');
    return isId(id) || id === undefined || id === null
      ? { kind: 'response', id: known, raw: value }
      : { kind: 'invalid', id: known, mistake: NO_ID, isResponse: true };
  }
  if (typeof method !== 'string') return invalid('a method that is no string');
  if (result !== undefined || error !== undefined) return invalid('a request and a response at once');
  if (id === undefined) return { kind: 'notification', method, raw: value };
  return isId(id) ? { kind: 'request', id, method, raw: value } : invalid(NO_ID);
}

/** Whether a member's name differs from one of these by its case alone. */
export function hasOtherCase(object: JsonObject, names: readonly string[]): boolean {
  return Object.keys(object).some((name) =>
    names.some((known) => name !== known && foldCase(name) === foldCase(known)),
  );
}

/** Also folds `\u017f` to s and the Kelvin sign to k, as readers do that ignore case. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

export function isId(value: unknown): value is MessageId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The id in invalid or incomplete JSON, so that its request gets a response; null if none is found. */
export function idIn(text: string): MessageId | null {
  const [, number, string] = /"id"\s*:\s*(?:(-?\d{1,15})\b|"([^"\\]{1,200})")/.exec(text.slice(0, 1_000)) ?? [];
  return number === undefined ? (string ?? null) : Number(number);
}
