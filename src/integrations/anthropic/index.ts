/** Guards clients of `@anthropic-ai/sdk`. Imports nothing of it: its types are met by shape. */
import type { Guard, ScreenCall } from '../../policy/index.js';
import { callsOf, isSigned, isText } from '../content-blocks.js';
import { isObject, type JsonObject, showEach, withMember } from '../json-value.js';
import { badRequest, eventData, type ShownEvents, type StreamedCalls, showResponse } from '../model-response.js';
import { type Author, CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';
import { type Asked, messageNote, refused } from './refused.js';

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

interface Body extends Asked {
  readonly messages: readonly Message[];
  readonly tools?: unknown;
  readonly system?: unknown;
}

/**
 * A function for the client's `middleware`: screens what a call of Messages would show the model: user texts, documents,
 * search results, tool results and failures, tool definitions. Links and images that could leak data are removed from the
 * model's texts, and its tool calls are checked, also in a stream. A refused call isn't made; its response is the note, or ends
 * with it in a stream, with stop reason `refusal`.
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
    return showResponse(screening, await send(body), showStream(screening), (refusal) => refused(refusal, body), given);
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

/** Returns the author of a message; one of tool results goes on with the turn. */
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

/** Shows a message that comes in events: its texts and thoughts without ways out, its calls of tools once they are whole. */

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
  let usage: unknown;
  let shown = 0;
  const calls = followCalls();
  return {
    isOpen: calls.isOpen,
    follow(event, data = {}) {
      if (isObject(data.message)) usage = data.message.usage;
      return calls.follow(event, data);
    },
    async show(event) {
      const data = /^content_block_/.test(event.event ?? '') ? eventData(event) : undefined;
      if (data === undefined) return [event];
      const { index, content_block: block, delta } = data;
      if (isObject(block)) shown += 1;
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
    refuse: (refusal) => messageNote(refusal, shown, usage).map((data) => written(data, data.type)),
  };
}

/**
 * A call is whole where its block stops, or the message does. Those that the application runs are handed on together, where the
 * message ends: if one is refused, none is made. Those that the provider runs don't hold back what follows them.
 */
function followCalls(): StreamedCalls {
  const blocks = new Map<unknown, { readonly block: JsonObject; json: string }>();
  const open = new Set<unknown>();
  let isHeld = false;
  const begin = (index: unknown, block: JsonObject): { json: string } => {
    const call = blocks.get(index) ?? { block, json: '' };
    blocks.set(index, call);
    open.add(index);
    if (!PROVIDER_CALL.test(String(call.block.type))) isHeld = true;
    return call;
  };
  const end = (index: unknown): readonly unknown[] => {
    const { block, json = '' } = blocks.get(index) ?? {};
    return open.delete(index) ? [{ content: [json === '' ? block : { ...block, input: json }] }] : [];
  };
  return {
    follow(_, data = {}) {
      const { type, index, content_block: block, delta } = data;
      if (isObject(block) && (/tool_use$/.test(String(block.type)) || callsOf(block).length > 0)) begin(index, block);
      if (isObject(delta) && delta.type === 'input_json_delta')
        begin(index, { type: 'tool_use' }).json += String(delta.partial_json ?? '');
      if (type === 'content_block_stop') return end(index);
      if (type !== 'message_delta' && type !== 'message_stop') return [];
      isHeld = false;
      return [...open].flatMap(end);
    },
    isOpen: () => isHeld || open.size > 0,
  };
}

/** Calls of tools that the provider runs. */
const PROVIDER_CALL = /^(server|mcp)_tool_use$/;
