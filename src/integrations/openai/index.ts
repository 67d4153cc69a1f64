/** Guards clients of the `openai` package, and of any service with its API. Imports nothing of it. */
import { type Enforcement, type Guard, PortcullisBlocked, passes, type ScreenCall } from '../../policy/index.js';
import { eventStream } from '../server-sent-events.js';
import { screenTexts, type TextPart } from '../texts.js';

interface Item {
  readonly role?: string;
  readonly type?: string;
  readonly content?: unknown;
  readonly output?: unknown;
}

interface Body {
  readonly messages?: readonly Item[];
  readonly input?: string | readonly Item[];
  readonly tools?: readonly unknown[];
  readonly model?: string;
  readonly stream?: boolean;
}

/**
 * A `fetch` for the client: screens what a call of Chat Completions or Responses would show the model: user texts, tool
 * results and failures, tool definitions. A refused call isn't made; its response is the note, with finish reason
 * `content_filter` (`incomplete` in Responses). For `throw` the client throws a `BadRequestError` with the code
 * `portcullis_blocked`: a fetch that throws would be retried.
 *
 * The package runs no tools itself: wrap theirs by `guardFunction`.
 */
export function guardFetch(guard: Guard, fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (url, init) => {
    const kind = /\/(chat\/completions|responses)$/.exec(new URL(url instanceof Request ? url.url : url).pathname)?.[1];
    if (kind === undefined || typeof init?.body !== 'string') return fetch(url, init);
    const given = JSON.parse(init.body) as Body;
    const call = { signal: init.signal ?? undefined };
    try {
      const { body, refusal } = await screenBody(guard, given, call);
      if (refusal !== undefined) {
        return kind === 'responses' ? refusedResponse(refusal, given) : refusedChat(refusal, given);
      }
      return await fetch(url, body === given ? init : { ...init, body: JSON.stringify(body) });
    } catch (error) {
      if (error instanceof PortcullisBlocked) return badRequest(error.enforcement);
      throw error;
    }
  };
}

async function screenBody(
  guard: Guard,
  body: Body,
  call: ScreenCall,
): Promise<{ readonly body: Body; readonly refusal: Enforcement | undefined }> {
  let refusal: Enforcement | undefined;
  const { messages, input, tools } = body;
  const shown: Body = {
    ...body,
    ...(messages && { messages: await Promise.all(messages.map(screenItem)) }),
    ...(typeof input === 'string' && { input: (await content(input, 'user')) as string }),
    ...(Array.isArray(input) && { input: await Promise.all((input as readonly Item[]).map(screenItem)) }),
    ...(tools && { tools: await shownTools(tools) }),
  };
  return { body: JSON.stringify(shown) === JSON.stringify(body) ? body : shown, refusal };

  async function screenItem(item: Item): Promise<Item> {
    if (item.role === 'user') return { ...item, content: await content(item.content, 'user') };
    if (item.role === 'tool' || item.role === 'function') {
      return { ...item, content: await content(item.content, 'tool_result') };
    }
    return item.output === undefined ? item : { ...item, output: await content(item.output, 'tool_result') };
  }

  async function content(given: unknown, point: 'user' | 'tool_result'): Promise<unknown> {
    const screen = async (text: string): Promise<string> => {
      const decision = await guard.screen(point, text, call);
      if (passes(decision)) return decision.value;
      if (decision.action === 'refuse' || decision.action === 'stop') refusal ??= decision.enforcement;
      return decision.enforcement.note;
    };
    if (typeof given === 'string') return screen(given);
    return Array.isArray(given) ? screenTexts(given as readonly TextPart[], ['text', 'input_text'], screen) : given;
  }

  async function shownTools(all: readonly unknown[]): Promise<readonly unknown[]> {
    const kept = await Promise.all(
      all.map(async (tool) => {
        const { function: inner = tool } = tool as { function?: unknown };
        const { name, description, parameters } = inner as Readonly<Record<string, unknown>>;
        if (typeof name !== 'string') return true;
        return passes(
          await guard.screen('tool_definition', { name, description, parameters }, { ...call, tool: name }),
        );
      }),
    );
    return all.filter((_, index) => kept[index]);
  }
}

function badRequest({ note, evidenceId }: Enforcement): Response {
  const error = {
    message: note,
    type: 'portcullis_blocked',
    code: 'portcullis_blocked',
    param: null,
    evidence_id: evidenceId,
  };
  return Response.json({ error }, { status: 400, headers: { 'x-should-retry': 'false' } });
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
  const chunk = (delta: object, reason: string | null): object => ({
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
