/** Guards agents of LangChain 1. Imports nothing of it: the caller passes what it needs. */
import {
  type DocumentText,
  type Enforcement,
  errorText,
  type Guard,
  type Point,
  PortcullisBlocked,
  passes,
  type ScreenCall,
} from '../../policy/index.js';
import { type Author, CallScreening, createSteps } from '../screened-call.js';
import { readSchema } from '../tool-schema.js';

/** Exports of `langchain` that the middleware needs: pass the module itself, or these three of it. */
export interface LangChain {
  readonly createMiddleware: (config: never) => unknown;
  readonly AIMessage: new (fields: never) => unknown;
  readonly ToolMessage: new (fields: never) => unknown;
  /**
   * Of `@langchain/langgraph`: puts `{ portcullis: { tool, reason, evidenceId, question } }` to a person where the policy says `ask`. The
   * question quotes the values of a flow. A run that is resumed with `true` makes the call.
   */
  readonly interrupt?: (question: never) => unknown;
}

interface Block {
  readonly type: string;
}

interface Message {
  readonly type: string;
  /** Of a message of the type `generic`. */
  readonly role?: string;
  readonly content: string | readonly Block[];
  readonly name?: string;
  readonly tool_call_id?: string;
  /** Holds a provider's `reasoning_content`, among others. */
  readonly additional_kwargs?: { readonly lc_source?: unknown };
  readonly lc_kwargs?: object;
}

interface Runtime {
  readonly signal?: AbortSignal;
  readonly configurable?: { readonly run_id?: string; readonly thread_id?: string };
}

interface ModelRequest {
  readonly messages: readonly Message[];
  readonly systemMessage?: Message;
  readonly tools?: readonly unknown[];
  readonly runtime?: Runtime;
}

interface ToolRequest {
  readonly toolCall: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly state?: { readonly messages?: readonly Message[] };
  readonly runtime?: Runtime;
}

/**
 * A middleware for `createAgent`: screens what each model call would show the model (user texts, text files, tool results,
 * tool definitions), the arguments of tools before they run, their results, and the messages of what they throw. A refused
 * run ends with the note as the last message; a failed tool becomes a `ToolMessage` with status `error`, as it does without
 * a middleware.
 *
 * @throws PortcullisBlocked inside the run, for the action `throw`
 *
 * @example
 * ```ts
 * const agent = langchain.createAgent({ model, tools, middleware: [guardMiddleware(guard, langchain)] });
 * ```
 */
export function guardMiddleware<L extends LangChain>(guard: Guard, langchain: L): ReturnType<L['createMiddleware']> {
  const { createMiddleware } = langchain;
  const AIMessage = langchain.AIMessage as new (fields: object) => unknown;
  const ToolMessage = langchain.ToolMessage as new (fields: object) => unknown;

  async function wrapModelCall(request: ModelRequest, handler: (request: ModelRequest) => unknown): Promise<unknown> {
    const screening = new CallScreening(guard, readCall(request.runtime));
    screening.trust(request.systemMessage?.content);
    const messages = await follow(screening, request.messages);
    const tools = request.tools && (await screening.tools(request.tools, readDefinition));
    if (screening.refusal === undefined) {
      const answer = (await handler({ ...request, messages, ...(tools && { tools }) })) as Message;
      if (answer?.type !== 'ai') return answer;
      const { content, additional_kwargs } = answer;
      const shown = await screening.answer({ content, message: additional_kwargs });
      return withMembers(answer, { content: shown.content, additional_kwargs: shown.message });
    }
    const { note, evidenceId, runId } = screening.refusal;
    return new AIMessage({ content: note, response_metadata: { portcullis: { evidenceId, runId } } });
  }

  const stepOf = createSteps(guard, follow);

  /** An interrupt of the graph puts the question; the run goes on with the answer. */
  function isApproved(
    { enforcement, question }: { readonly enforcement: Enforcement; readonly question?: string | undefined },
    tool: string,
  ): boolean {
    const { reason, evidenceId } = enforcement;
    return langchain.interrupt?.({ portcullis: { tool, reason, evidenceId, question } } as never) === true;
  }

  async function wrapToolCall(request: ToolRequest, handler: (request: ToolRequest) => unknown): Promise<unknown> {
    const { id, name, args } = request.toolCall;
    const call = { ...readCall(request.runtime), tool: name };
    const failed = (content: string): unknown =>
      new ToolMessage({ content, tool_call_id: id ?? '', name, status: 'error' });

    const screening = await stepOf(request.state?.messages, call.runId);
    const asked = await screening.screen('tool_call', { name, arguments: args ?? null }, call);
    if (!passes(asked) && !(asked.action === 'ask' && isApproved(asked, name))) return failed(asked.enforcement.note);
    let result: Message;
    try {
      result = (await handler(request)) as Message;
    } catch (error) {
      if (error instanceof PortcullisBlocked || call.signal?.aborted || bubblesUp(error)) throw error;
      const decision = await screening.screen('tool_result', `${errorText(error)}\n Please fix your mistakes.`, call);
      return failed(passes(decision) ? decision.value : decision.enforcement.note);
    }
    // A Command changes the state in its own way; the messages in it are screened before the next model call.
    if (result.type !== 'tool') return result;
    const decision = await screening.screen('tool_result', result.content, call);
    return passes(decision) ? withMembers(result, { content: decision.value }) : failed(decision.enforcement.note);
  }

  return createMiddleware({ name: 'portcullis', wrapModelCall, wrapToolCall } as never) as ReturnType<
    L['createMiddleware']
  >;
}

/** Lets `guardDocuments` read LangChain's documents. */
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

const AUTHORS: Readonly<Record<string, Author>> = {
  ...{ human: 'user', user: 'user', ai: 'model', assistant: 'model' },
  ...{ system: 'operator', developer: 'operator', remove: 'operator' },
};

function authorOf({ type, role, additional_kwargs }: Message): Author {
  // Written by a model, from results too.
  if (type === 'human' && additional_kwargs?.lc_source === 'summarization') return 'tool';
  return AUTHORS[(type === 'generic' ? String(role) : type).toLowerCase()] ?? 'tool';
}

/** Blocks of a model's message that it wrote itself; others are results of tools that the provider ran. */
const OWN_BLOCKS =
  /^(text|output_text|reasoning|thinking|redacted_thinking|refusal|function_call|invalid_tool_call|(server_)?tool_(call|use)(_chunk)?|input_json_delta)$/;

function follow(
  screening: CallScreening,
  messages: readonly Message[],
  more: ScreenCall = {},
): Promise<readonly Message[]> {
  return screening.turns(messages, authorOf, (message, at) => showMessage(screening, message, { ...at, ...more }));
}

async function showMessage(screening: CallScreening, message: Message, at: ScreenCall): Promise<Message> {
  const { content, type, tool_call_id, name = screening.toolOf(tool_call_id) } = message;
  const call = { ...at, tool: name };
  const author = authorOf(message);
  if (author === 'user' || author === 'tool') {
    const point = author === 'user' ? author : 'tool_result';
    return withMembers(message, await screening.item(point, { name: message.name, content }, call));
  }
  if (type !== 'ai' || !Array.isArray(content)) return message;
  const pointOfBlock = (block: Block): Point | undefined => (OWN_BLOCKS.test(block.type) ? undefined : 'tool_result');
  return withMembers(message, { content: await screening.blocks(content, pointOfBlock, call) });
}

/** A message with these members; a copy, of any class, where they differ. A constructor's arguments are what it is serialised from. */
function withMembers(
  message: Message,
  members: Partial<Record<'content' | 'name' | 'additional_kwargs', unknown>>,
): Message {
  const names = (['content', 'name', 'additional_kwargs'] as const).filter(
    (name) => members[name] !== undefined && members[name] !== message[name],
  );
  if (names.length === 0) return message;
  const changed = Object.fromEntries(names.map((name) => [name, members[name]]));
  const copy = { ...changed, ...(message.lc_kwargs && { lc_kwargs: { ...message.lc_kwargs, ...changed } }) };
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, copy);
}

function readDefinition(tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null || !('schema' in tool)) return tool;
  const { name, description, schema, extras } = tool as Readonly<Record<string, unknown>>;
  return { name, description, schema: readSchema(schema), extras };
}

/** LangGraph's interrupts and parent commands are thrown, and are no failures. */
function bubblesUp(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'is_bubble_up' in error && error.is_bubble_up === true;
}
