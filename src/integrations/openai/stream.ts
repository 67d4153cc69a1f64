/** Takes ways out from the texts of an answer that comes in events: chunks of Chat Completions and Completions, events of Responses. */
import {
  type CallScreening,
  isObject,
  type Members,
  type ShownEvents,
  showEach,
  withMember,
} from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';

/** `showAnswer` takes ways out from an answer in one piece, which some events repeat. */
export function showStream(screening: CallScreening, showAnswer: (answer: unknown) => Promise<unknown>): ShownEvents {
  const { streamed } = screening;
  let last: Members = {};
  let sequence = 0;

  async function showChoice(choice: unknown): Promise<unknown> {
    if (!isObject(choice)) return choice;
    const { index, delta, text, finish_reason } = choice;
    const piece = isObject(delta) ? delta.content : text;
    let shown = typeof piece === 'string' ? await streamed.write(index, piece) : '';
    if (finish_reason !== null && finish_reason !== undefined) shown += await streamed.end(index);
    if (shown === (piece ?? '')) return choice;
    return isObject(delta) ? { ...choice, delta: { ...delta, content: shown } } : { ...choice, text: shown };
  }

  async function showData(data: Members): Promise<readonly Members[]> {
    const { type, choices, delta, text, part, item, response } = data;
    if (Array.isArray(choices)) {
      last = data;
      return [withMember(data, 'choices', await showEach(choices, async (choice) => [await showChoice(choice)]))];
    }
    const { item_id, output_index, content_index } = data;
    const id = `${output_index} ${content_index}`;
    if (type === 'response.output_text.delta') return [{ ...data, delta: await streamed.write(id, String(delta)) }];
    if (type === 'response.output_text.done') {
      const rest = await streamed.end(id);
      const place = { item_id, output_index, content_index, logprobs: [] };
      const more =
        rest === '' ? [] : [{ type: 'response.output_text.delta', ...place, sequence_number: 0, delta: rest }];
      const whole = await screening.answer({ type: 'output_text', text });
      return [...more, withMember(data, 'text', whole.text)];
    }
    if (isObject(part)) return [withMember(data, 'part', await screening.answer(part))];
    if (isObject(item))
      return [item.type === 'message' ? withMember(data, 'item', await screening.answer(item)) : data];
    return [withMember(data, 'response', await showAnswer(response))];
  }

  async function rest(): Promise<readonly ServerSentEvent[]> {
    const choices: Members[] = [];
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
      const data = parsed(event.data);
      // Anything else that is no object, such as a comment that keeps the connection open, ends no text.
      if (!isObject(data)) return event.data?.trim() === '[DONE]' ? [...(await rest()), event] : [event];
      const shown = await showData(data);
      return shown.map((each) => {
        const numbered = each.sequence_number === undefined ? each : { ...each, sequence_number: sequence++ };
        return {
          ...event,
          ...(event.event !== undefined && { event: String(each.type) }),
          data: JSON.stringify(numbered),
        };
      });
    },
    rest,
  };
}

function parsed(json = ''): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
