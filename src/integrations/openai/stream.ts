/** Takes ways out from the texts of an answer that comes in events: chunks of Chat Completions and Completions, events of Responses. */
import { isObject, type JsonObject, showEach, withMember } from '../json-value.js';
import { eventData, type ShownEvents } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';

export function showStream(screening: CallScreening): ShownEvents {
  const { streamed } = screening;
  let last: JsonObject = {};
  let sequence = 0;

  function written(event: ServerSentEvent, data: JsonObject): ServerSentEvent {
    const numbered = data.sequence_number === undefined ? data : { ...data, sequence_number: sequence++ };
    return { ...event, ...(event.event && { event: String(data.type) }), data: JSON.stringify(numbered) };
  }

  async function rest(): Promise<readonly ServerSentEvent[]> {
    const choices: JsonObject[] = [];
    for (const index of streamed.open()) {
      const content = await streamed.end(index);
      // Of Responses, which break off with an error alone, nobody waits for more.
      if (content !== '' && typeof index === 'number')
        choices.push({ index, delta: { content }, text: content, finish_reason: null });
    }
    return choices.length === 0 ? [] : [{ data: JSON.stringify({ ...last, choices }) }];
  }

  return {
    async show(event) {
      const data = eventData(event);
      // Anything else that is no object, such as a comment that keeps the connection open, ends no text.
      if (data === undefined) return event.data?.trim() === '[DONE]' ? [...(await rest()), event] : [event];
      if (!Array.isArray(data.choices))
        return (await showResponsesEvent(screening, data)).map((each) => written(event, each));
      last = data;
      const choices = await showEach(data.choices, async (choice) => [await showChoice(screening, choice)]);
      return [written(event, withMember(data, 'choices', choices))];
    },
    rest,
  };
}

/** A choice of a chunk. */
async function showChoice({ streamed }: CallScreening, choice: unknown): Promise<unknown> {
  if (!isObject(choice)) return choice;
  const { index, delta, text, finish_reason } = choice;
  const piece = isObject(delta) ? delta.content : text;
  let shown = typeof piece === 'string' ? await streamed.write(index, piece) : '';
  if (finish_reason !== null && finish_reason !== undefined) shown += await streamed.end(index);
  if (shown === (piece ?? '')) return choice;
  return isObject(delta) ? { ...choice, delta: { ...delta, content: shown } } : { ...choice, text: shown };
}

/** An event of Responses, with what was held back of a text before the one that ends it. */
async function showResponsesEvent(screening: CallScreening, data: JsonObject): Promise<readonly JsonObject[]> {
  const { streamed } = screening;
  const { type, delta, text, part, item, response, item_id, output_index, content_index } = data;
  const id = `${output_index} ${content_index}`;
  if (type === 'response.output_text.delta') return [{ ...data, delta: await streamed.write(id, String(delta)) }];
  if (type === 'response.output_text.done') {
    const rest = await streamed.end(id);
    const place = { item_id, output_index, content_index, logprobs: [], sequence_number: 0 };
    const more = rest === '' ? [] : [{ type: 'response.output_text.delta', ...place, delta: rest }];
    const whole = await screening.answer({ type: 'output_text', text });
    return [...more, withMember(data, 'text', whole.text)];
  }
  if (isObject(part)) return [withMember(data, 'part', await screening.answer(part))];
  if (isObject(item)) return [item.type === 'message' ? withMember(data, 'item', await screening.answer(item)) : data];
  return [withMember(data, 'response', await screening.answer(response))];
}
