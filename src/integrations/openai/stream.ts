/** Takes ways out from the texts of an answer that comes in events: chunks of Chat Completions and Completions, events of Responses. */
import { isSigned, isThought } from '../content-blocks.js';
import { isObject, type JsonObject, showEach, withMember } from '../json-value.js';
import { eventData, type ShownEvents } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';

export function showStream(screening: CallScreening): ShownEvents {
  const { streamed } = screening;
  let last: JsonObject = {};
  let sequence = 0;
  const signed = new Set<unknown>();

  function written(event: ServerSentEvent, data: JsonObject): ServerSentEvent {
    const numbered = data.sequence_number === undefined ? data : { ...data, sequence_number: sequence++ };
    return { ...event, ...(event.event && { event: String(data.type) }), data: JSON.stringify(numbered) };
  }

  async function rest(): Promise<readonly ServerSentEvent[]> {
    const choices: JsonObject[] = [];
    for (const id of streamed.open()) {
      const text = await streamed.end(id);
      const [, index, name] = /^(\d+) (\w+)$/.exec(String(id)) ?? [];
      // Of Responses, which break off with an error alone, nobody waits for more.
      if (text === '' || name === undefined || !SAID.includes(name)) continue;
      const said = name === 'content' ? { text } : {};
      choices.push({ index: Number(index), delta: { [name]: text }, ...said, finish_reason: null });
    }
    return choices.length === 0 ? [] : [{ data: JSON.stringify({ ...last, choices }) }];
  }

  return {
    async show(event) {
      const data = eventData(event);
      // Anything else that is no object, such as a comment that keeps the connection open, ends no text.
      if (data === undefined) return event.data?.trim() === '[DONE]' ? [...(await rest()), event] : [event];
      if (!Array.isArray(data.choices))
        return (await showResponsesEvent(screening, data, signed)).map((each) => written(event, each));
      last = data;
      const choices = await showEach(data.choices, async (choice) => [await showChoice(screening, choice)]);
      return [written(event, withMember(data, 'choices', choices))];
    },
    rest,
  };
}

/** Members of a delta that hold what the model says or thinks. */
const SAID = ['reasoning_content', 'reasoning', 'content'];

/** A choice of a chunk. */
async function showChoice({ streamed }: CallScreening, choice: unknown): Promise<unknown> {
  if (!isObject(choice)) return choice;
  const { index, delta, text, finish_reason } = choice;
  const isOver = finish_reason !== null && finish_reason !== undefined;
  const said: JsonObject = isObject(delta) ? delta : { content: text };
  const shown = { ...said };
  for (const name of SAID) {
    const piece = said[name];
    const id = `${index} ${name}`;
    const kind = name === 'content' ? 'text' : 'thought';
    let part = typeof piece === 'string' ? await streamed.write(id, piece, kind) : '';
    // What is thought ends where the answer begins.
    if (isOver || (kind === 'thought' && said.content)) part += await streamed.end(id);
    if (part !== (piece ?? '')) shown[name] = part;
  }
  if (SAID.every((name) => shown[name] === said[name])) return choice;
  return isObject(delta) ? { ...choice, delta: shown } : { ...choice, text: shown.content };
}

const TEXT_EVENT = /^response\.(output_text|reasoning_text|reasoning_summary_text)\.(delta|done)$/;

/** An event of Responses, with what was held back of a text before the one that ends it. `signed`: the thoughts that are. */
async function showResponsesEvent(
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
