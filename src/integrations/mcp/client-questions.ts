/**
 * Questions to the person behind a client, as forms. They have ids that the server never sees, so that it can neither ask nor answer
 * under them.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
import { randomUUID } from 'node:crypto';
import type { FlowQuestion, OnAsk } from '../../policy/index.js';
import { isObject, type JsonObject } from '../json-value.js';
import type { Message, MessageId } from './messages.js';

type Request = Message & { readonly kind: 'request' };

/** Questions whose answers are kept from the server, however late they come. */
const MAX_ASKED = 1_000;

/** Whether a client with these capabilities can put a form to a person. */
export function showsForms(capabilities: unknown): boolean {
  const { elicitation } = isObject(capabilities) ? capabilities : {};
  // Without a mode it means forms: the oldest version has no others.
  return isObject(elicitation) && ('form' in elicitation || !('url' in elicitation));
}

function formOf(text: string): JsonObject {
  const allow = { type: 'boolean', title: 'Allow this call', description: 'Once, with these values.' };
  const requestedSchema = { type: 'object', properties: { allow }, required: ['allow'] };
  return { method: 'elicitation/create', params: { message: `portcullis asks: ${text}`, requestedSchema } };
}

function permits(answer: unknown): boolean {
  const { action, content } = isObject(answer) ? answer : {};
  return action === 'accept' && isObject(content) && content.allow === true;
}

function add<V>(questions: Map<MessageId | null, V>, value: V): string {
  const id = `portcullis-${randomUUID()}`;
  if (questions.size >= MAX_ASKED) questions.delete(questions.keys().next().value ?? null);
  questions.set(id, value);
  return id;
}

/** A call with the metadata of the request that goes on with it, such as its token of progress. */
function withMeta(call: JsonObject, { id, params }: JsonObject): JsonObject {
  const { _meta } = isObject(params) ? params : {};
  return { ...call, id, params: { ...(call.params as object), _meta } };
}

/** Questions that are requests to the client of a session. */
export class ClientQuestions {
  readonly #asked = new Map<MessageId | null, (isPermitted: boolean) => void>();
  #canAsk = false;

  /** Whether the client can put a form to a person. */
  get canAsk(): boolean {
    return this.#canAsk;
  }

  /** Learns that from the request by which the client introduces itself. */
  meet({ method, raw }: Request): void {
    if (method === 'initialize') this.#canAsk = isObject(raw.params) && showsForms(raw.params.capabilities);
  }

  /** Asks whether a call may be made; true only where the person allows it in time. */
  ask({ text, signal }: FlowQuestion, send: (message: JsonObject) => void): Promise<boolean> {
    return new Promise((resolve) => {
      const id = add(this.#asked, resolve);
      signal.addEventListener('abort', () => {
        const params = { requestId: id, reason: 'The question has expired.' };
        send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      });
      send({ jsonrpc: '2.0', id, ...formOf(text) });
    });
  }

  has(id: MessageId | null): boolean {
    return this.#asked.has(id);
  }

  /** Takes a response to a question; false for any other. The first one counts. */
  takes({ id, raw }: { readonly id: MessageId | null; readonly raw?: JsonObject }): boolean {
    this.#asked.get(id)?.(permits(raw?.result));
    return this.has(id);
  }
}

/** The outcome of a call: a response to it, or the call as it is to be made. */
export type CallOutcome = { readonly reply: JsonObject } | { readonly forward: JsonObject };

/**
 * Calls of protocol version 2026-07-28 and later that wait for a person. A question is the response to a call, and the answer comes
 * with the call once more; the first one is made, whatever the second one says.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export class HeldCalls {
  /** Those that were answered are undefined. */
  readonly #held = new Map<MessageId | null, ((answer: unknown) => Promise<CallOutcome>) | undefined>();

  /** Decides on a call; where a person is asked meanwhile, gives the question. `decide` gives the response that refuses it. */
  begin({ raw }: Request, decide: (onAsk: OnAsk) => Promise<JsonObject | undefined>): Promise<CallOutcome> {
    let asks: (question: CallOutcome) => void;
    const nextQuestion = (): Promise<CallOutcome> =>
      new Promise((resolve) => {
        asks = resolve;
      });
    const first = nextQuestion();
    const onAsk: OnAsk = ({ text }) =>
      new Promise((resolve) => {
        const key = add(this.#held, (answer) => {
          const next = nextQuestion();
          resolve(permits(answer));
          return Promise.race([decided, next]);
        });
        const result = { resultType: 'input_required', inputRequests: { [key]: formOf(text) } };
        asks({ reply: { jsonrpc: '2.0', result } });
      });
    const decided = decide(onAsk).then((reply): CallOutcome => (reply === undefined ? { forward: raw } : { reply }));
    // Where nobody asks for it any more, its failure must not end the process.
    decided.catch(() => {});
    return Promise.race([decided, first]);
  }

  /** Goes on with a call that comes with an answer; undefined for any other. An answer counts once. */
  take({ raw }: Request): Promise<CallOutcome> | undefined {
    const { inputResponses } = isObject(raw.params) ? raw.params : {};
    const [key, answer] = Object.entries(inputResponses ?? {}).find(([id]) => this.#held.has(id)) ?? [];
    if (key === undefined) return undefined;
    const goOn = this.#held.get(key);
    this.#held.set(key, undefined);
    const outcome = goOn?.(answer) ?? Promise.reject(new Error('the question was answered before'));
    return outcome.then((is) => ('reply' in is ? is : { forward: withMeta(is.forward, raw) }));
  }
}
