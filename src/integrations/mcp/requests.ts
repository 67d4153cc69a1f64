import type { ScreenCall } from '../../policy/index.js';
import { isObject, type Message, type MessageId } from './messages.js';
import { shownName } from './pin-event.js';

/** A request of the client, as its response is judged by it. */
export interface Asked {
  readonly id: MessageId;
  readonly method: string;
  /** The page of a list. */
  readonly cursor: string | undefined;
  /** Protocol version 2026-07-28 and later: results say their type. */
  readonly isModern: boolean;
  readonly call: ScreenCall;
}

/** Requests that wait for a response. */
export interface WaitingRequests {
  add(asked: Asked): void;
  /** Ends the wait for a response. Some clients take the id "6" for 6, so that either is found. */
  take(id: MessageId | null): Asked | undefined;
  /** Ends every wait. */
  takeAll(): readonly Asked[];
  readonly size: number;
}

/** Requests that are remembered; of more, the oldest are screened as responses to an unknown request. */
const MAX_WAITING = 10_000;
/** The `_meta` member in which a host may say which run a request belongs to. */
const RUN_ID = 'portcullis/runId';
const VERSION = 'io.modelcontextprotocol/protocolVersion';

/** Reads a request of the client. */
export function readRequest({ id, method, raw }: Message & { kind: 'request' }): Asked {
  const params = isObject(raw.params) ? raw.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  const runId = meta[RUN_ID];
  const tool = method === 'tools/call' && typeof params.name === 'string' ? shownName(params.name) : undefined;
  return {
    id,
    method,
    cursor: typeof params.cursor === 'string' ? params.cursor : undefined,
    isModern: VERSION in meta,
    call: {
      ...(typeof runId === 'string' && /^[\w.:-]{1,100}$/.test(runId) ? { runId } : {}),
      ...(tool === undefined ? {} : { tool }),
    },
  };
}

export function createWaitingRequests(): WaitingRequests {
  const waiting = new Map<string, Asked>();
  return {
    add(asked) {
      if (waiting.size >= MAX_WAITING) waiting.delete(waiting.keys().next().value as string);
      waiting.set(requestKey(asked.id), asked);
    },
    take(id) {
      if (id === null) return undefined;
      const keys = [requestKey(id), requestKey(typeof id === 'string' ? Number(id) : String(id))];
      const key = keys.find((each) => waiting.has(each));
      const asked = key === undefined ? undefined : waiting.get(key);
      if (key !== undefined) waiting.delete(key);
      return asked;
    },
    takeAll() {
      const all = [...waiting.values()];
      waiting.clear();
      return all;
    },
    get size() {
      return waiting.size;
    },
  };
}

/** A key for an id: 6 and "6" are two requests. */
export function requestKey(id: MessageId): string {
  return `${typeof id} ${id}`;
}
