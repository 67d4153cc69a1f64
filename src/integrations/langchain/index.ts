/** Guards agents of LangChain 1. Imports nothing of it: the caller passes what it needs. */
import {
  type DocumentText,
  type Enforcement,
  errorText,
  type Guard,
  PortcullisBlocked,
  passes,
  type ScreenCall,
} from '../../policy/index.js';
import { screenTexts, type TextPart } from '../texts.js';

/** What the middleware needs of `langchain`: pass the module itself, or these three of it. */
export interface LangChain {
  readonly createMiddleware: (config: never) => unknown;
  readonly AIMessage: new (fields: never) => unknown;
  readonly ToolMessage: new (fields: never) => unknown;
}

interface Message {
  readonly type: string;
  readonly content: string | readonly TextPart[];
  readonly name?: string;
  readonly lc_kwargs?: object;
}

interface Runtime {
  readonly signal?: AbortSignal;
  readonly configurable?: { readonly run_id?: string; readonly thread_id?: string };
}

interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools?: readonly unknown[];
  readonly runtime?: Runtime;
}

interface ToolRequest {
  readonly toolCall: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly runtime?: Runtime;
}

/**
 * A middleware for `createAgent`: screens what each model call would show the model (user texts, text files, tool results,
 * tool definitions), the arguments of tools before they run, their results, and the messages of what they throw. A refused
 * run ends with the note as the last message; a failed tool becomes a `ToolMessage` with status `error`, as it does without
 * a middleware.
 *
 * @throws PortcullisBlocked inside the run, for the action `throw`
 */
export function guardMiddleware<L extends LangChain>(guard: Guard, langchain: L): ReturnType<L['createMiddleware']> {
  const { createMiddleware } = langchain;
  const AIMessage = langchain.AIMessage as new (fields: object) => unknown;
  const ToolMessage = langchain.ToolMessage as new (fields: object) => unknown;

  async function wrapModelCall(request: ModelRequest, handler: (request: ModelRequest) => unknown): Promise<unknown> {
    const call = readCall(request.runtime);
    let refusal: Enforcement | undefined;
    const messages = await Promise.all(
      request.messages.map(async (message) => {
        const screened = await screenMessage(message, call);
        if (screened.refusal !== undefined) refusal ??= screened.refusal;
        return screened.message;
      }),
    );
    if (refusal !== undefined) {
      const { note, evidenceId, runId } = refusal;
      return new AIMessage({ content: note, response_metadata: { portcullis: { evidenceId, runId } } });
    }
    return handler({ ...request, messages, ...(request.tools && { tools: await shownTools(request.tools, call) }) });
  }

  async function screenMessage(
    message: Message,
    call: ScreenCall,
  ): Promise<{ readonly message: Message; readonly refusal?: Enforcement | undefined }> {
    if (message.type !== 'human' && message.type !== 'tool') return { message };
    const point = message.type === 'human' ? 'user' : 'tool_result';
    let refusal: Enforcement | undefined;
    const screen =
      (at: 'user' | 'tool_result' | 'document') =>
      async (text: string): Promise<string> => {
        const decision = await guard.screen(at, text, { ...call, tool: message.name });
        if (passes(decision)) return decision.value;
        if (decision.action === 'refuse' || decision.action === 'stop') refusal ??= decision.enforcement;
        return decision.enforcement.note;
      };
    const { content } = message;
    const shown =
      typeof content === 'string'
        ? await screen(point)(content)
        : await screenTexts(await screenTexts(content, ['text'], screen(point)), ['text-plain'], screen('document'));
    return { message: shown === content ? message : withContent(message, shown), refusal };
  }

  async function shownTools(tools: readonly unknown[], call: ScreenCall): Promise<readonly unknown[]> {
    const shown = await Promise.all(
      tools.map(async (tool) => {
        const { name, description } = tool as { name?: unknown; description?: unknown };
        if (typeof name !== 'string' || typeof description !== 'string') return true;
        return passes(await guard.screen('tool_definition', { name, description }, { ...call, tool: name }));
      }),
    );
    return tools.filter((_, index) => shown[index]);
  }

  async function wrapToolCall(request: ToolRequest, handler: (request: ToolRequest) => unknown): Promise<unknown> {
    const { id, name, args } = request.toolCall;
    const call = { ...readCall(request.runtime), tool: name };
    const failed = (content: string): unknown =>
      new ToolMessage({ content, tool_call_id: id ?? '', name, status: 'error' });

    const asked = await guard.screen('tool_call', { name, arguments: args ?? null }, call);
    if (!passes(asked)) return failed(asked.enforcement.note);
    let result: Message;
    try {
      result = (await handler(request)) as Message;
    } catch (error) {
      if (error instanceof PortcullisBlocked || call.signal?.aborted || bubblesUp(error)) throw error;
      const decision = await guard.screen('tool_result', `${errorText(error)}\n Please fix your mistakes.`, call);
      return failed(passes(decision) ? decision.value : decision.enforcement.note);
    }
    // A Command changes the state in its own way; the messages in it are screened before the next model call.
    if (result.type !== 'tool') return result;
    let note: string | undefined;
    const screen = async (text: string): Promise<string> => {
      const decision = await guard.screen('tool_result', text, call);
      if (passes(decision)) return decision.value;
      note = decision.enforcement.note;
      return note;
    };
    const { content } = result;
    const shown = typeof content === 'string' ? await screen(content) : await screenTexts(content, ['text'], screen);
    if (note !== undefined) return failed(note);
    return shown === content ? result : withContent(result, shown);
  }

  return createMiddleware({ name: 'portcullis', wrapModelCall, wrapToolCall } as never) as ReturnType<
    L['createMiddleware']
  >;
}

/** How `guardDocuments` reads LangChain's documents. */
export function pageContent<D extends { pageContent: string }>(): DocumentText<D> {
  return {
    read: (document) => document.pageContent,
    write: (document, text) =>
      Object.assign(Object.create(Object.getPrototypeOf(document)), document, { pageContent: text }),
  };
}

function readCall(runtime: Runtime | undefined): ScreenCall {
  return { signal: runtime?.signal, runId: runtime?.configurable?.run_id ?? runtime?.configurable?.thread_id };
}

/** A copy of a message of any class. Its constructor's arguments are what it is serialised from. */
function withContent(message: Message, content: Message['content']): Message {
  const copy = { content, ...(message.lc_kwargs && { lc_kwargs: { ...message.lc_kwargs, content } }) };
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, copy);
}

/** LangGraph's interrupts and parent commands are thrown, and are no failures. */
function bubblesUp(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'is_bubble_up' in error && error.is_bubble_up === true;
}
