import { type Guard, PortcullisBlocked } from '../../policy/index.js';
import { isObject } from '../json-value.js';
import { screenItems } from '../openai/items.js';
import { CallScreening } from '../screened-call.js';
import { withMembers } from '../with-members.js';

/** A model of `@openai/agents`. */
export interface AgentModel {
  getResponse(request: never): Promise<{ readonly output: readonly unknown[] }>;
  getStreamedResponse(request: never): AsyncIterable<unknown>;
}

interface AgentModelRequest {
  readonly systemInstructions?: string;
  readonly input: unknown;
  readonly signal?: AbortSignal;
}

/** A model that is shown what the filter would show it, and whose messages lose ways out. */
export function guardAgentModel<M extends AgentModel>(guard: Guard, model: M): M {
  async function follow(request: AgentModelRequest): Promise<{ screening: CallScreening; shown: never }> {
    const { systemInstructions, input, signal } = request;
    const screening = new CallScreening(guard, { signal });
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly object[]);
    const shown = await screenInput(screening, systemInstructions, items);
    return { screening, shown: { ...request, input: [...shown] } as never };
  }
  return withMembers(model, {
    async getResponse(request: AgentModelRequest) {
      const { screening, shown } = await follow(request);
      return screening.answer(await model.getResponse(shown));
    },
    async *getStreamedResponse(request: AgentModelRequest) {
      const { screening, shown } = await follow(request);
      yield* showEvents(screening, model.getStreamedResponse(shown));
    },
  });
}

/** Returns what a model is shown. @throws PortcullisBlocked for a refused text */
export async function screenInput<I extends object>(
  screening: CallScreening,
  instructions: unknown,
  input: readonly I[],
): Promise<readonly I[]> {
  screening.trust(instructions);
  const shown = await screenItems(screening, input);
  if (screening.refusal !== undefined) throw new PortcullisBlocked(screening.refusal);
  return shown;
}

/** The events of a streamed response without ways out. */
async function* showEvents(screening: CallScreening, events: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const { streamed } = screening;
  async function* endTexts(butOf?: unknown): AsyncGenerator<unknown> {
    for (const itemId of streamed.open().filter((id) => id !== butOf))
      yield textDelta(itemId, await streamed.end(itemId));
  }
  for await (const event of events) {
    if (!isObject(event) || (event.type === 'model' && repeatsText(event.event))) continue;
    if (event.type === 'output_text_delta') {
      const { itemId = '', delta } = event;
      yield* endTexts(itemId);
      yield textDelta(itemId, await streamed.write(itemId, String(delta), 'joined'));
      continue;
    }
    if (event.type === 'model' && isObject(event.event)) {
      const { output } = await screening.answer({ output: [event.event.item] });
      yield output[0] === event.event.item ? event : { ...event, event: { ...event.event, item: output[0] } };
    } else if (event.type !== 'response_done') yield event;
    else {
      yield* endTexts();
      yield { ...event, response: await screening.answer(event.response) };
    }
  }
  yield* endTexts();
}

/** Without the provider's data, which repeat the text. */
function textDelta(itemId: unknown, delta: string): object {
  return { type: 'output_text_delta', delta, ...(itemId !== '' && { itemId }) };
}

/** Whether an event of a provider may hold a text of the model: any but the start, and items that are no messages. */
function repeatsText(event: unknown): boolean {
  if (!isObject(event)) return true;
  const { type, item } = event;
  return isObject(item) ? item.type === 'message' : type !== 'response.created';
}
