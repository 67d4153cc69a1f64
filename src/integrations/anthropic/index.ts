/** Guards clients of `@anthropic-ai/sdk`. Imports nothing of it: its types are met by shape. */
import { type Enforcement, type Guard, type Point, passes, type ScreenCall } from '../../policy/index.js';
import { eventStream } from '../server-sent-events.js';
import { screenTexts, type TextPart } from '../texts.js';

/** What the middleware reads of a request. */
export interface AnthropicRequest {
  readonly url: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

interface Block extends TextPart {
  readonly content?: unknown;
  readonly source?: { readonly type?: string; readonly data?: unknown; readonly content?: unknown };
}

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly unknown[];
  readonly model?: string;
  readonly stream?: boolean;
}

/**
 * A function for the client's `middleware`: screens what a call of Messages would show the model: user texts, documents,
 * search results, tool results and failures, tool definitions. A refused call isn't made; its response is the note, with
 * stop reason `refusal`.
 *
 * The package runs no tools itself, but for its tool runner: wrap their functions by `guardFunction`.
 *
 * @throws PortcullisBlocked inside the call, for the action `throw`; the client doesn't retry it. A stream has it as the
 * `cause` of its error
 */
export function guardMiddleware(
  guard: Guard,
): <R extends AnthropicRequest>(request: R, next: (request: R) => Promise<Response>) => Promise<Response> {
  return async (request, next) => {
    if (!/\/v1\/messages$/.test(new URL(request.url).pathname)) return next(request);
    const given = (typeof request.body === 'string' ? JSON.parse(request.body) : request.body) as Body | undefined;
    if (!Array.isArray(given?.messages)) return next(request);
    const { body, refusal } = await screenBody(guard, given, { signal: request.signal ?? undefined });
    if (refusal !== undefined) return refused(refusal, given);
    if (body === given) return next(request);
    return next({ ...request, body: typeof request.body === 'string' ? JSON.stringify(body) : body });
  };
}

async function screenBody(
  guard: Guard,
  body: Body,
  call: ScreenCall,
): Promise<{ readonly body: Body; readonly refusal: Enforcement | undefined }> {
  let refusal: Enforcement | undefined;
  const messages = await Promise.all(
    body.messages.map(async (message) => {
      const { role, content } = message;
      if (typeof content === 'string')
        return role === 'user' ? { ...message, content: await shown('user')(content) } : message;
      const blocks = role === 'user' ? await screenTexts(content, ['text'], shown('user')) : content;
      return { ...message, content: await Promise.all(blocks.map(screenBlock)) };
    }),
  );
  const tools = body.tools && (await shownTools(body.tools));
  const screened = { ...body, messages, ...(tools && { tools }) };
  return { body: JSON.stringify(screened) === JSON.stringify(body) ? body : screened, refusal };

  function shown(point: Point): (text: string) => Promise<string> {
    return async (text) => {
      const decision = await guard.screen(point, text, call);
      if (passes(decision)) return decision.value;
      if (decision.action === 'refuse' || decision.action === 'stop') refusal ??= decision.enforcement;
      return decision.enforcement.note;
    };
  }

  async function screenBlock(block: Block): Promise<Block> {
    const { type, content, source } = block;
    if (type.endsWith('tool_result')) return { ...block, content: await inner(content, 'tool_result') };
    if (type === 'search_result') return { ...block, content: await inner(content, 'document') };
    if (type !== 'document' || source === undefined) return block;
    if (source.type === 'text') return { ...block, source: { ...source, data: await inner(source.data, 'document') } };
    if (source.type !== 'content') return block;
    return { ...block, source: { ...source, content: await inner(source.content, 'document') } };
  }

  async function inner(content: unknown, point: Point): Promise<unknown> {
    if (typeof content === 'string') return shown(point)(content);
    if (!Array.isArray(content)) return content;
    const blocks = await screenTexts(content as readonly Block[], ['text'], shown(point));
    return Promise.all(blocks.map(screenBlock));
  }

  async function shownTools(all: readonly unknown[]): Promise<readonly unknown[]> {
    const kept = await Promise.all(
      all.map(async (tool) => {
        const { name, description, input_schema } = tool as Readonly<Record<string, unknown>>;
        if (description === undefined && input_schema === undefined) return true;
        const definition = { name, description, input_schema };
        return passes(await guard.screen('tool_definition', definition, { ...call, tool: String(name) }));
      }),
    );
    return all.filter((_, index) => kept[index]);
  }
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
