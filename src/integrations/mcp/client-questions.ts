import { randomUUID } from 'node:crypto';
import type { FlowQuestion } from '../../policy/index.js';
import { isObject, type JsonObject } from '../json-value.js';
import type { Message, MessageId } from './messages.js';

/** Questions whose answers are kept from the server, however late they come. */
const MAX_ASKED = 1_000;

/**
 * Questions to the person behind a client, as forms.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export class ClientQuestions {
  /** By ids that the server never sees, so that it can't ask or answer under them. */
  readonly #asked = new Map<MessageId | null, (isPermitted: boolean) => void>();
  #canAsk = false;

  /** Whether the client can put a form to a person. */
  get canAsk(): boolean {
    return this.#canAsk;
  }

  /** Learns that from the request by which the client introduces itself. */
  meet({ method, raw }: Message & { kind: 'request' }): void {
    if (method !== 'initialize') return;
    const { capabilities } = isObject(raw.params) ? raw.params : {};
    const { elicitation } = isObject(capabilities) ? capabilities : {};
    // Without a mode it means forms: the oldest version has no others.
    this.#canAsk = isObject(elicitation) && ('form' in elicitation || !('url' in elicitation));
  }

  /** Asks whether a call may be made; true only where the person allows it in time. */
  ask({ text, signal }: FlowQuestion, send: (message: JsonObject) => void): Promise<boolean> {
    const id = `portcullis-${randomUUID()}`;
    const allow = { type: 'boolean', title: 'Allow this call', description: 'Once, with these values.' };
    const requestedSchema = { type: 'object', properties: { allow }, required: ['allow'] };
    if (this.#asked.size >= MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value ?? null);
    const answer = new Promise<boolean>((resolve) => void this.#asked.set(id, resolve));
    signal.addEventListener('abort', () => {
      const params = { requestId: id, reason: 'The question has expired.' };
      send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    });
    send({
      ...{ jsonrpc: '2.0', id, method: 'elicitation/create' },
      params: { message: `portcullis asks: ${text}`, requestedSchema },
    });
    return answer;
  }

  /** Whether an id is that of a question. */
  has(id: MessageId | null): boolean {
    return this.#asked.has(id);
  }

  /** Takes a response to a question; false for any other. The first one counts. */
  takes({ id, raw }: { readonly id: MessageId | null; readonly raw?: JsonObject }): boolean {
    const { action, content } = isObject(raw?.result) ? raw.result : {};
    this.#asked.get(id)?.(action === 'accept' && isObject(content) && content.allow === true);
    return this.has(id);
  }
}
