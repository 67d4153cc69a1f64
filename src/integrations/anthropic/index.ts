/** Guards clients of `@anthropic-ai/sdk`. Imports nothing of it: its types are met by shape. */
import type { Enforcement, Guard, ScreenCall } from '../../policy/index.js';
import { isSigned, isText } from '../content-blocks.js';
import { isObject, showEach, withMember } from '../json-value.js';
import { badRequest, eventData, type ShownEvents, showResponse } from '../model-response.js';
import { type Author, CallScreening } from '../screened-call.js';
import { eventStream, type ServerSentEvent } from '../server-sent-events.js';

/** Members of a request that the middleware reads. */
export interface AnthropicRequest {
  readonly url: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
}

interface Body {
  readonly messages: readonly Message[];
  readonly tools?: unknown;
  readonly system?: unknown;
  readonly model?: string;
  readonly stream?: boolean;
}

/**
 * A function for the client's `middleware`: screens what a call of Messages would show the model: user texts, documents,
 * search results, tool results and failures, tool definitions. The texts of the answer lose ways out. A refused call isn't made; its response is the note, with
 * stop reason `refusal`.
 *
 * The package runs no tools itself, but for its tool runner: wrap their functions by `guardFunction`.
 *
 * @throws PortcullisBlocked inside the call, for the action `throw`; the client doesn't retry it. A stream has it as the
 * `cause` of its error
 *
 * @example
 * ```ts
 * const client = new Anthropic({ middleware: [guardMiddleware(guard)] });
 * ```
 */
export function guardMiddleware(
  guard: Guard,
): <R extends AnthropicRequest>(request: R, next: (request: R) => Promise<Response>) => Promise<Response> {
  return async (request, next) => {
    const isJson = typeof request.body === 'string';
    const given = isJson ? JSON.parse(request.body as string) : request.body;
    if (!isObject(given) || /\/count_tokens$/.test(new URL(request.url).pathname)) return next(request);
    const { messages, requests } = given;
    const call = { signal: request.signal ?? undefined };
    const send = (shown: object): Promise<Response> => {
      if (JSON.stringify(shown) === JSON.stringify(given)) return next(request);
      return next({ ...request, body: isJson ? JSON.stringify(shown) : shown });
    };
    if (Array.isArray(requests)) {
      const all = await Promise.all(requests.map(({ params }: { params: Body }) => screenBody(guard, params, call)));
      const refusal = all.find(({ screening }) => screening.refusal)?.screening.refusal;
      if (refusal !== undefined) {
        const error = { type: 'portcullis_blocked', message: refusal.note };
        return badRequest({ type: 'error', error });
      }
      return send({ ...given, requests: requests.map((one, index) => ({ ...one, params: all[index]?.body })) });
    }
    if (!Array.isArray(messages)) return send(given);
    const { body, screening } = await screenBody(guard, given as unknown as Body, call);
    if (screening.refusal !== undefined) return refused(screening.refusal, body);
    return showResponse(screening, await send(body), showStream(screening), (refusal) => refused(refusal, body));
  };
}

/** Blocks that are the model's own words. All that isn't listed is screened. */
const MODEL_BLOCKS = new Set<unknown>(
  'text thinking redacted_thinking tool_use server_tool_use mcp_tool_use compaction fallback'.split(' '),
);

async function screenBody(
  guard: Guard,
  body: Body,
  call: ScreenCall,
): Promise<{ readonly body: Body; readonly screening: CallScreening }> {
  const screening = new CallScreening(guard, call);
  const { messages, tools, system } = body;
  screening.trust(system);
  const shown: Body = {
    ...body,
    messages: await screening.turns(messages, authorOf, (message, at) => screenMessage(screening, message, at)),
    ...(Array.isArray(tools) && { tools: await screening.tools(tools) }),
  };
  return { body: shown, screening };
}

/** Whose words a message has; one of tool results goes on with the turn. */
function authorOf({ role, content }: Message): Author {
  if (role === 'assistant') return 'model';
  if (role === 'system') return 'operator';
  if (!Array.isArray(content) || content.some(isText)) return 'user';
  return content.some((block) => /tool_result$/.test(String(block?.type))) ? 'tool' : 'user';
}

async function screenMessage(screening: CallScreening, message: Message, at: ScreenCall): Promise<Message> {
  const { role, content } = message;
  if (role !== 'assistant' && role !== 'system') return screening.item('user', message, at);
  if (!Array.isArray(content)) return message;
  // The model's own blocks may name tools that came and went.
  const changed = await showEach<unknown>(content, async (block) => {
    if (!isObject(block) || !Array.isArray(block.tool_changes)) return [block];
    const changes = await screening.blocks(block.tool_changes, () => 'tool_result', at);
    return [withMember(block, 'tool_changes', changes)];
  });
  const pointOf = (block: unknown): 'tool_result' | undefined =>
    isObject(block) && MODEL_BLOCKS.has(block.type) ? undefined : 'tool_result';
  return withMember(message, 'content', await screening.blocks(changed, pointOf, at));
}

/** Takes ways out from the texts and thoughts of a stream. */
function showStream({ streamed }: CallScreening): ShownEvents {
  const thoughts = new Set<unknown>();
  const written = (data: object, event = 'content_block_delta'): ServerSentEvent => ({
    event,
    data: JSON.stringify(data),
  });
  const piece = (index: unknown, text: string): ServerSentEvent => {
    const delta = thoughts.has(index) ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text };
    return written({ type: 'content_block_delta', index, delta });
  };
  const write = (index: unknown, text: unknown): Promise<string> =>
    streamed.write(index, String(text), thoughts.has(index) ? 'thought' : 'joined');
  return {
    async show(event) {
      const data = /^content_block_/.test(event.event ?? '') ? eventData(event) : undefined;
      if (data === undefined) return [event];
      const { index, content_block: block, delta } = data;
      if (isObject(block) && (block.type === 'text' || block.type === 'thinking')) {
        const { type } = block;
        if (type === 'thinking') thoughts.add(index);
        const text = await write(index, block[type] ?? '');
        return [written({ ...data, content_block: { ...block, [type]: text } }, event.event)];
      }
      if (isObject(delta) && (delta.type === 'text_delta' || delta.type === 'thinking_delta'))
        return [piece(index, await write(index, delta.text ?? delta.thinking))];
      // The last of a thought.
      const isSignature = thoughts.has(index) && isSigned(delta);
      if (!isSignature && event.event !== 'content_block_stop') return [event];
      const rest = await streamed.end(index, isSignature);
      return rest === '' ? [event] : [piece(index, rest), event];
    },
    // A stream that breaks off has an error, and no message.
    rest: async () => [],
  };
}

function refused({ note, evidenceId }: Enforcement, { model = 'portcullis', stream }: Body): Response {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const message = {
    id: evidenceId,
    type: 'message',
    role: 'assistant',
    model,
    content: [] as object[],
    stop_sequence: null,
    usage,
  };
  if (!stream) return Response.json({ ...message, content: [{ type: 'text', text: note }], stop_reason: 'refusal' });
  const events = [
    { type: 'message_start', message: { ...message, stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: note } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  return eventStream(events.map((event) => ({ event: event.type, data: event })));
}
