import { callsOf, isSigned, isThought } from '../content-blocks.js';
import { isObject, type JsonObject, withMember } from '../json-value.js';
import { eventData, type ShownEvents, type StreamedCalls } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';
import { showChat } from './chat-stream.js';
import { responseNote } from './refused.js';

/** Shows the events of an answer, of Responses if the first that says so is; gateways add events of their own to either. */
export function showStream(screening: CallScreening): ShownEvents {
  const responses = showResponses(screening);
  let shown = showChat(screening);
  let isKnown = false;
  return {
    follow(event, data) {
      if (!isKnown) {
        const isResponses = typeof data?.type === 'string' && data.type.startsWith('response.');
        if (isResponses) shown = responses;
        isKnown = isResponses || data?.choices !== undefined;
      }
      return shown.follow(event, data);
    },
    isOpen: () => shown.isOpen(),
    show: (event) => shown.show(event),
    rest: () => shown.rest(),
    refuse: (refusal) => shown.refuse(refusal),
  };
}

/** Shows an answer of Responses that comes in events: its texts without ways out, its calls of tools once they are whole. */
function showResponses(screening: CallScreening): ShownEvents {
  /** Of the thoughts that are signed, the index. */
  const signed = new Set<unknown>();
  const items: unknown[] = [];
  let response: JsonObject = {};
  let sequence = 0;

  function written(event: ServerSentEvent, data: JsonObject): ServerSentEvent {
    const { item, output_index } = data;
    if (isObject(data.response)) response = data.response;
    if (isObject(item)) items[Number(output_index)] = item;
    const numbered = data.sequence_number === undefined ? data : { ...data, sequence_number: sequence++ };
    return { ...event, ...(event.event && { event: String(data.type) }), data: JSON.stringify(numbered) };
  }

  return {
    ...followCalls(),
    async show(event) {
      const data = eventData(event);
      return data === undefined
        ? [event]
        : (await showEvent(screening, data, signed)).map((each) => written(event, each));
    },
    // Of a response that breaks off with an error nobody waits for more.
    rest: async () => [],
    refuse: (refusal) =>
      responseNote(refusal, response, items.filter(isObject)).map((data) =>
        written({ event: data.type }, { ...data, sequence_number: 0 }),
      ),
  };
}

/** Pieces of what a call is made with. */
const CALL_PIECE = /^response\.\w+_call_(?:arguments|input|command|operation_diff)\.\w+$/;

/**
 * A call is whole where its item is done, or where the response that holds it has ended. Those that the application runs are handed on
 * together, where the response ends: if one is refused, none is made. Those that the provider runs, which have no `call_id`, don't hold
 * back what follows them.
 */
function followCalls(): StreamedCalls {
  const open = new Set<unknown>();
  let isHeld = false;
  return {
    follow(event, data = {}) {
      const { type, output_index, item, response } = data;
      if (event.data?.trim() === '[DONE]') isHeld = false;
      if (isObject(response)) {
        const { output } = response;
        if (!/^response\.(completed|incomplete)$/.test(String(type))) return [response];
        isHeld = false;
        if (Array.isArray(output)) for (const at of output.keys()) open.delete(at);
        return [response];
      }
      const hasCall = callsOf(item).length > 0;
      if (hasCall && isObject(item) && item.call_id !== undefined) isHeld = true;
      if (type === 'response.output_item.done') {
        open.delete(output_index);
        return [item];
      }
      if (hasCall || CALL_PIECE.test(String(type))) open.add(output_index);
      return [];
    },
    isOpen: () => isHeld || open.size > 0,
  };
}

const TEXT_EVENT = /^response\.(output_text|reasoning_text|reasoning_summary_text)\.(delta|done)$/;

/** An event, with what was held back of a text before the one that ends it. `signed`: the thoughts that are. */
async function showEvent(
  screening: CallScreening,
  data: JsonObject,
  signed: Set<unknown>,
): Promise<readonly JsonObject[]> {
  const { streamed } = screening;
  const { type, delta, text, part, item, response, item_id, output_index, content_index, summary_index } = data;
  const [, kind, step] = TEXT_EVENT.exec(String(type)) ?? [];
  const id = `${kind} ${output_index} ${content_index ?? summary_index}`;
  const isFixed = signed.has(output_index);
  if (step === 'delta') {
    const textKind = kind === 'output_text' ? 'joined' : 'thought';
    return [{ ...data, delta: await streamed.write(id, String(delta), textKind) }];
  }
  if (step === 'done') {
    const rest = await streamed.end(id, isFixed);
    const place = { item_id, output_index, sequence_number: 0 };
    const within = summary_index === undefined ? { content_index, logprobs: [] } : { summary_index };
    const more = rest === '' ? [] : [{ type: `response.${kind}.delta`, ...place, ...within, delta: rest }];
    const whole = await screening.answer({ type: 'output_text', text }, isFixed);
    return [...more, withMember(data, 'text', whole.text)];
  }
  if (isObject(part)) return [withMember(data, 'part', await screening.answer(part, isFixed))];
  if (isThought(item) && isSigned(item)) signed.add(output_index);
  const { output } = await screening.answer({ output: item === undefined ? [] : [item] });
  if (isObject(item)) return [withMember(data, 'item', output[0])];
  return [withMember(data, 'response', await screening.answer(response))];
}
