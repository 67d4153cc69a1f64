import { AsyncLocalStorage } from 'node:async_hooks';
import type { Enforcement, ScreenCall } from '../../policy/index.js';
import { shownName } from '../../policy/run/tool-name.js';
import { isObject, type JsonObject } from '../json-value.js';
import { showsForms } from './client-questions.js';
import type { Message, MessageId } from './messages.js';

/** A request of the client, as its response is judged by it. */
export interface Asked {
  readonly id: MessageId;
  readonly method: string;
  /** The page of a list. */
  readonly cursor: string | undefined;
  /** Protocol version 2026-07-28 and later: results say their type. */
  readonly isModern: boolean;
  /** Of such a version: whether the client can put a form to a person. */
  readonly showsForms: boolean;
  readonly call: ScreenCall;
  /** Calls a function where the request was made: its response belongs to the same run of `guard.inRun`. */
  readonly within: <R>(work: () => R) => R;
}

/** Requests that are remembered; of more, the oldest are screened as responses to an unknown request. */
const MAX_WAITING = 10_000;
/** The `_meta` member in which a host may say which run a request belongs to. */
const RUN_ID = 'portcullis/runId';
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** Reads a request of the client. `namesRun`: whether it may name its run. */
export function readRequest({ id, method, raw }: Message & { kind: 'request' }, namesRun: boolean): Asked {
  const params = isObject(raw.params) ? raw.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  const runId = namesRun ? meta[RUN_ID] : undefined;
  const tool = method === 'tools/call' && typeof params.name === 'string' ? shownName(params.name) : undefined;
  return {
    id,
    method,
    cursor: typeof params.cursor === 'string' ? params.cursor : undefined,
    isModern: VERSION in meta,
    showsForms: VERSION in meta && showsForms(meta[CAPABILITIES]),
    within: AsyncLocalStorage.snapshot(),
    call: {
      ...(typeof runId === 'string' && /^[\w.:-]{1,100}$/.test(runId) ? { runId } : {}),
      ...(tool === undefined ? {} : { tool }),
    },
  };
}

export class WaitingRequests {
  readonly #asked = new Map<string, Asked>();
  /** Responses that named no request, and the requests that any of them may have been to. */
  #unnamed = 0;
  #doubtful = new Set<string>();

  add(asked: Asked): void {
    if (this.#asked.size >= MAX_WAITING) this.#asked.delete(this.#asked.keys().next().value as string);
    this.#asked.set(requestKey(asked.id), asked);
  }

  /** Ends the wait for a response. Some clients take the id "6" for 6, so that either is found. */
  take(id: MessageId | null): Asked | undefined {
    if (id === null) return undefined;
    const keys = [requestKey(id), requestKey(typeof id === 'string' ? Number(id) : String(id))];
    const key = keys.find((each) => this.#asked.has(each)) ?? '';
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    this.#doubtful.delete(key);
    return asked;
  }

  /** Counts a response that names no request. */
  addUnnamed(): void {
    this.#unnamed += 1;
    this.#doubtful = new Set(this.#asked.keys());
  }

  /** Ends the wait of requests whose response can only have been one that named none. */
  takeUnnamed(): readonly Asked[] {
    if (this.#doubtful.size > this.#unnamed) return [];
    const taken = [...this.#doubtful].flatMap((key) => this.#asked.get(key) ?? []);
    for (const key of this.#doubtful) this.#asked.delete(key);
    this.#doubtful.clear();
    this.#unnamed = 0;
    return taken;
  }

  takeAll(): readonly Asked[] {
    const all = [...this.#asked.values()];
    this.#asked.clear();
    return all;
  }

  get size(): number {
    return this.#asked.size;
  }
}

/** A key for an id: 6 and "6" are two requests. */
export function requestKey(id: MessageId): string {
  return `${typeof id} ${id}`;
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INTERNAL_ERROR = -32_603;
/** The code of a request or response that was refused. */
export const REFUSED = -32_000;

const TOOL_METHODS = new Set(['tools/call', 'tasks/result']);

export function errorResponse(id: MessageId | null, code: number, message: string, data?: unknown): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

/** The response in place of a refused request or result, in the form that its method has. */
export function refusal(
  id: MessageId | null,
  { note, runId, evidenceId, rule, cause, action }: Enforcement,
  asked: Asked | undefined,
  result?: unknown,
): JsonObject {
  const proof = { runId, evidenceId, rule, cause, action };
  const isTool = asked === undefined ? isObject(result) && 'content' in result : TOOL_METHODS.has(asked.method);
  return isTool ? toolRefusal(id, note, asked, proof, result) : errorResponse(id, REFUSED, note, { portcullis: proof });
}

/** A result of a tool that says why there is none. */
export function toolRefusal(
  id: MessageId | null,
  note: string,
  asked: Asked | undefined,
  proof?: JsonObject,
  result?: unknown,
): JsonObject {
  const isModern = asked?.isModern ?? (isObject(result) && 'resultType' in result);
  return {
    jsonrpc: '2.0',
    id,
    result: {
      ...(isModern ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text: note }],
      // Without it a client checks the result against the tool's output schema.
      isError: true,
      ...(proof === undefined ? {} : { _meta: { 'portcullis/enforcement': proof } }),
    },
  };
}
