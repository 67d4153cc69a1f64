/** Shows a message that comes in events: its texts and thoughts without ways out, its calls of tools once they are whole. */
import { callsOf, isSigned } from '../content-blocks.js';
import { isObject, type JsonObject } from '../json-value.js';
import { eventData, type ShownEvents, type StreamedCalls } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';
import { messageNote } from './refused.js';

export function showStream({ streamed }: CallScreening): ShownEvents {
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
