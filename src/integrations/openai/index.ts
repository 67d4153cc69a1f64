/** Guards clients of the `openai` package, and of any service with its API. Imports nothing of it. */
import { type Enforcement, type Guard, PortcullisBlocked } from '../../policy/index.js';
import { isObject, type JsonObject, parsedJson, withMember } from '../json-value.js';
import { badRequest, showResponse } from '../model-response.js';
import { CallScreening } from '../screened-call.js';
import { eventStream } from '../server-sent-events.js';
import { screenItems } from './items.js';
import { showStream } from './stream.js';

/** Paths whose texts no model acts on. */
const UNREAD =
  /\/(embeddings|moderations|input_tokens|audio|images|videos|files|uploads|containers|skills|vector_stores|evals|graders)(\/|$)/;
/** Paths whose bodies must be readable. */
const READ = /\/(completions|responses|conversations|compact|items)\/?$/;

/**
 * A `fetch` for the client: screens what a call would show the model: user texts, tool results and failures, tool
 * definitions. Its texts lose ways out, also in a stream. Calls of tools in the answer are checked, but for those of a stream.
 * A refused call isn't made; its response is the note, with finish reason `content_filter` (`incomplete` in
 * Responses). For `throw`, and on other paths than those two, the client throws a `BadRequestError` with the code
 * `portcullis_blocked`: a fetch that throws would be retried.
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
      return await showResponse(screening, response, showStream(screening), refused);
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

function refusedRequest(message: string, evidenceId?: string): Response {
  const [type, code, param] = ['portcullis_blocked', 'portcullis_blocked', null];
  return badRequest({ error: { message, type, code, param, evidence_id: evidenceId } });
}

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
}

/** A response of Chat Completions that is the note. */
export function refusedChat({ note, evidenceId }: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const base = { id: evidenceId, created: Math.floor(Date.now() / 1000), model };
  const finish = 'content_filter';
  if (!stream) {
    const message = { role: 'assistant', content: note, refusal: note };
    const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    return Response.json({ ...base, object: 'chat.completion', choices, usage });
  }
  const chunk = (delta: object, reason: string | null): { readonly data: object } => ({
    data: { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] },
  });
  return eventStream([chunk({ role: 'assistant', content: note }, null), chunk({}, finish), { data: '[DONE]' }]);
}

/** A response of the Responses API that is the note. */
export function refusedResponse({ note, evidenceId }: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const part = { type: 'output_text', text: note, annotations: [], logprobs: [] };
  const item = { id: `msg_${evidenceId}`, type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const response = {
    id: `resp_${evidenceId}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    error: null,
    model,
    output: [item],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    metadata: { portcullis_evidence_id: evidenceId },
    usage: null,
  };
  if (!stream) return Response.json(response);
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: note, logprobs: [] },
    { type: 'response.output_text.done', ...place, text: note, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.incomplete', response },
  ];
  return eventStream(events.map((event, index) => ({ event: event.type, data: { ...event, sequence_number: index } })));
}
