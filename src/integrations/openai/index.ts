/** Guards clients of the `openai` package, and of any service with its API. Imports nothing of it. */
import { type Enforcement, type Guard, PortcullisBlocked } from '../../policy/index.js';
import { isObject, type JsonObject, parsedJson, withMember } from '../json-value.js';
import { showResponse } from '../model-response.js';
import { CallScreening } from '../screened-call.js';
import { screenItems } from './items.js';
import { type Asked, refusedChat, refusedRequest, refusedResponse } from './refused.js';
import { showStream } from './stream.js';

export { refusedChat, refusedResponse } from './refused.js';

/** Paths whose texts no model acts on. */
const UNREAD =
  /\/(embeddings|moderations|input_tokens|audio|images|videos|files|uploads|containers|skills|vector_stores|evals|graders)(\/|$)/;
/** Paths whose bodies must be readable. */
const READ = /\/(completions|responses|conversations|compact|items)\/?$/;

/**
 * A `fetch` for the client: screens what a call would show the model: user texts, tool results and failures, tool
 * definitions. Links and images that could leak data are removed from the model's texts, and its tool calls are checked, also in
 * a stream.
 * A refused call isn't made; its response is the note, or ends with it in a stream, with finish reason `content_filter`
 * (`incomplete` in Responses). For `throw`, and on other paths than those two, the client throws a `BadRequestError` with the
 * code `portcullis_blocked`: a fetch that throws would be retried.
 *
 * The package runs no tools itself: wrap theirs by `guardFunction`.
 *
 * @example
 * ```ts
 * const client = new OpenAI({ fetch: guardFetch(guard) });
 * ```
 */
export function guardFetch(guard: Guard, fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (url, init) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    const isRead = READ.test(pathname);
    const given = init?.body ?? (url instanceof Request ? url.body : null);
    if (given === null || given instanceof FormData || (!isRead && UNREAD.test(pathname))) return fetch(url, init);
    // Read from a request of its own: the body may be a stream, bytes, or that of a `Request`.
    const asked = new Request(url, { ...init, ...({ duplex: 'half' } as RequestInit) });
    const bytes = await asked.arrayBuffer();
    const body = parsedJson(new TextDecoder().decode(bytes));
    if (!isObject(body))
      return isRead ? refusedRequest('[refused by portcullis: the body is no JSON object.]') : send();
    const refused = (refusal: Enforcement): Response => {
      if (/\/responses\/?$/.test(pathname)) return refusedResponse(refusal, body as Asked);
      return Array.isArray(body.messages)
        ? refusedChat(refusal, body as Asked)
        : refusedRequest(refusal.note, refusal.evidenceId);
    };
    try {
      const screening = new CallScreening(guard, { signal: asked.signal });
      const shown = await screenBody(screening, body);
      if (screening.refusal !== undefined) return refused(screening.refusal);
      const response = await send(shown);
      return await showResponse(screening, response, showStream(screening), refused, body);
    } catch (error) {
      if (error instanceof PortcullisBlocked) return refusedRequest(error.message, error.enforcement.evidenceId);
      throw error;
    }

    function send(changed?: string): Promise<Response> {
      if (changed === undefined && typeof init?.body === 'string') return fetch(url, init);
      const headers = new Headers(asked.headers);
      headers.delete('content-length');
      const sent = { ...init, headers, body: changed ?? bytes };
      return fetch(url instanceof Request ? new Request(url, sent) : url, sent);
    }
  };
}

/** Returns the JSON text of the body as the model is to be shown it; undefined where nothing changes. */
async function screenBody(screening: CallScreening, body: JsonObject): Promise<string | undefined> {
  screening.trust(body.instructions);
  const shown: Record<string, unknown> = { ...body };
  for (const [name, screen] of Object.entries(PARTS)) {
    if (body[name] !== undefined) shown[name] = await screen(screening, body[name]);
  }
  return Object.entries(shown).every(([name, value]) => value === body[name]) ? undefined : JSON.stringify(shown);
}

type ScreenPart = (screening: CallScreening, part: unknown) => Promise<unknown>;

const screenMessages: ScreenPart = async (screening, input) =>
  Array.isArray(input) && input.every(isObject) ? screenItems(screening, input) : screening.content('user', input);

const screenTools: ScreenPart = async (screening, tools) => (Array.isArray(tools) ? screening.tools(tools) : tools);

/** The parts of a body that the model reads, but for what the operator wrote. */
const PARTS: Readonly<Record<string, ScreenPart>> = {
  messages: screenMessages,
  input: screenMessages,
  items: screenMessages,
  async prompt(screening, prompt) {
    if (!isObject(prompt)) return screening.content('user', prompt);
    const { variables } = prompt;
    return variables === undefined
      ? prompt
      : withMember(prompt, 'variables', await screening.content('user', variables));
  },
  prediction: (screening, prediction) => screening.content('document', prediction),
  tools: screenTools,
  functions: screenTools,
};
