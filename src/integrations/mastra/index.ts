/** Guards agents of `@mastra/core`. Imports nothing of it: its types are met by shape. */
import { hash } from 'node:crypto';
import type { Guard, ScreenCall } from '../../policy/index.js';
import { ASK_TIMEOUT_MS } from '../../policy/policy.js';
import { type ExecuteOptions, guardParts, type ModelTool, mustAsk, type RunOf } from '../ai-sdk/guard-tools.js';
import { AUTHORS, screenPrompt } from '../ai-sdk/prompt.js';
import { isSigned } from '../content-blocks.js';
import { isObject, type JsonObject, showEach, withMember } from '../json-value.js';
import { CallScreening, createSteps } from '../screened-call.js';
import { readSchema } from '../tool-schema.js';

/** Of Mastra's list of messages, the system messages that its memory adds: what it recalls of other conversations. */
interface MemoryMessages {
  getSystemMessages(tag: 'memory'): readonly { readonly content: unknown }[];
  clearSystemMessages(tag: 'memory'): unknown;
  addSystem(messages: object, tag: 'memory'): unknown;
}

interface RequestContext {
  get(name: string): unknown;
}

interface StepArguments {
  readonly abort: (reason?: string, options?: { metadata?: unknown }) => never;
  readonly abortSignal?: AbortSignal;
  readonly requestContext?: RequestContext;
}

interface Chunk {
  readonly type: string;
  readonly payload?: unknown;
}

interface StreamArguments<C> extends Pick<StepArguments, 'requestContext'> {
  readonly part: C;
  readonly state: Record<string, unknown>;
  readonly writer?: { custom(chunk: never): Promise<void> };
}

/** A `Processor` of Mastra, for the `inputProcessors` and the `outputProcessors` of an agent. */
export interface GuardProcessor {
  readonly id: 'portcullis';
  processInput<L>(args: StepArguments & { readonly messageList: L }): Promise<L>;
  processInputStep(
    args: StepArguments & {
      readonly messageList?: unknown;
      readonly tools?: Record<string, unknown>;
      readonly toolChoice?: unknown;
    },
  ): Promise<{ tools: Record<string, unknown>; toolChoice?: 'auto' } | undefined>;
  processLLMRequest<P extends readonly unknown[]>(
    args: StepArguments & { readonly prompt: P },
  ): Promise<{ prompt: P } | undefined>;
  processOutputStream<C extends Chunk>(args: StreamArguments<C>): Promise<C | null>;
}

/**
 * A processor that screens all that each model call would show the model: user texts, also those that the memory recalls,
 * text files, tool results, failed tools and tool definitions. A refused run ends with a tripwire: its reason is the note,
 * its metadata has the evidence id. As an output processor it cuts ways out from the texts of the model.
 *
 * @throws PortcullisBlocked inside the run, for the action `throw`
 *
 * @example
 * ```ts
 * const processors = [guardProcessor(guard)];
 * const agent = new Agent({
 *   ...{ id, name, instructions, model, tools: guardTools(guard, tools) },
 *   ...{ inputProcessors: processors, outputProcessors: processors },
 * });
 * ```
 */
export function guardProcessor(guard: Guard): GuardProcessor {
  return {
    id: 'portcullis',
    async processInput({ messageList, ...args }) {
      // Here too: before 1.71 the messages of the memory lose their tag ahead of the first step.
      await screenMemory(new CallScreening(guard, readCall(args)), messageList as MemoryMessages);
      return messageList;
    },
    async processInputStep({ tools = {}, toolChoice, messageList, ...args }) {
      const screening = new CallScreening(guard, readCall(args));
      await screenMemory(screening, messageList as MemoryMessages | undefined);
      const given = Object.entries(tools);
      const shown = await screening.tools(given, ([name, tool]) => readDefinition(name, tool));
      if (shown === given) return undefined;
      const kept = Object.fromEntries(shown);
      const { toolName } = (toolChoice ?? {}) as { toolName?: string };
      return { tools: kept, ...(toolName !== undefined && !(toolName in kept) ? { toolChoice: 'auto' } : {}) };
    },
    async processLLMRequest({ prompt, abort, ...args }) {
      const screening = new CallScreening(guard, readCall(args));
      // What the memory recalls stands in system messages, too: they pass, but are not trusted.
      const shown = await screenPrompt(screening, prompt, {}, { ...AUTHORS, system: 'model' });
      if (screening.refusal === undefined) return shown === prompt ? undefined : { prompt: shown as typeof prompt };
      const { note, evidenceId, runId, rule, action } = screening.refusal;
      return abort(note, { metadata: { portcullis: { evidenceId, runId, rule, action } } });
    },
    processOutputStream: (args) => showChunk(guard, args),
  };
}

/** A chunk as it may be shown; what was held back of a text comes before the chunk that ends it. */
async function showChunk<C extends Chunk>(
  guard: Guard,
  { part, state, writer, ...args }: StreamArguments<C>,
): Promise<C | null> {
  const payload = isObject(part.payload) ? part.payload : {};
  state.portcullis ??= new CallScreening(guard, readCall(args));
  const { streamed } = state.portcullis as CallScreening;
  const [, kind, step] = /^(text|reasoning)-(delta|end)$/.exec(part.type) ?? [];
  const key = `${kind} ${payload.id}`;
  const isOver = kind === 'reasoning' && isSigned(payload);
  if (step === 'delta' && payload.text !== '') {
    let text = await streamed.write(key, String(payload.text), kind === 'text' ? 'joined' : 'thought');
    if (isOver) text += await streamed.end(key, true);
    return text === '' ? null : { ...part, payload: { ...payload, text } };
  }
  // A piece without a text may bring the signature of the thought.
  const ended = step === 'end' || isOver ? [key] : ENDS.has(part.type) ? streamed.open() : [];
  for (const open of ended) {
    const text = await streamed.end(open, isOver);
    const [, said, id] = /^(\w+) (.*)$/s.exec(String(open)) ?? [];
    // A processor may return one chunk for each, but write more.
    if (text !== '') await writer?.custom({ ...part, type: `${said}-delta`, payload: { id, text } } as never);
  }
  return part;
}

/** Chunks after which no text goes on. */
const ENDS = new Set(['finish', 'error']);

/** The thread is the run; without one the context, which all hooks and tools of a request share. */
function readCall({ abortSignal, requestContext }: Omit<StepArguments, 'abort'>): ScreenCall {
  return { signal: abortSignal, runId: threadOf(requestContext) ?? requestContext };
}

/** The thread of a request. Where Mastra asks whether a call needs approval, it gives the context's members as a plain object. */
function threadOf(context: RequestContext | JsonObject = {}): string | undefined {
  const memory = typeof context.get === 'function' ? context.get('MastraMemory') : (context as JsonObject).MastraMemory;
  return (memory as { readonly thread?: { readonly id?: string } } | undefined)?.thread?.id;
}

/** Screens texts that the memory recalls of other conversations into the system prompt; the operator's own messages pass. */
async function screenMemory(screening: CallScreening, messages: MemoryMessages | undefined): Promise<void> {
  const recalled = messages?.getSystemMessages?.('memory') ?? [];
  const shown = await showEach(recalled, async (message) => [
    withMember(message, 'content', await screening.content('document', message.content)),
  ]);
  if (messages === undefined || shown === recalled) return;
  messages.clearSystemMessages('memory');
  for (const message of shown) messages.addSystem(message, 'memory');
}

/** Calls of one tool that need approval, as far as they are remembered. */
const ASKED = 1_000;

/**
 * Wraps tools of Mastra or the AI SDK: their arguments are screened before they run, then their results and the messages of
 * what they throw. A blocked result becomes a tool error whose text is the note. With `ask` a call needs approval; one that
 * nobody approved is denied, as is any outside of an agent, such as a workflow's. A flow is only asked about within a thread.
 *
 * `guardProcessor` beside it ends the run for `stop` and `throw`; without it both only replace.
 */
export function guardTools<T extends Readonly<Record<string, object>>>(guard: Guard, tools: T): T {
  const screeningOf = createSteps(guard, screenPrompt);
  const runOf: RunOf = async (options = {}) => {
    const { agent, requestContext } = options as ToolContext;
    const runId = agent?.threadId ?? threadOf(requestContext) ?? requestContext;
    // A tool of the AI SDK is given messages alone.
    return runId === undefined ? screeningOf(options.messages) : new CallScreening(guard, { runId });
  };
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guardTool(guard, runOf, name, tool)]),
  ) as T;
}

interface ToolContext extends ExecuteOptions {
  readonly agent?: { readonly threadId?: string; readonly toolCallId?: string };
  readonly requestContext?: RequestContext | JsonObject;
}

interface MastraTool extends ModelTool {
  readonly requireApproval?: Approval;
  readonly needsApproval?: Approval;
  readonly needsApprovalFn?: Approval;
}
type Approval = boolean | ((input: unknown, context: unknown) => boolean | PromiseLike<boolean>);

function guardTool(guard: Guard, runOf: RunOf, name: string, tool: MastraTool): object {
  const asked = new Map<string, number>();
  // Just before an agent runs an approved call, Mastra asks once more whether it needs approval, without the call's id.
  const isApproved = (input: unknown, context: ToolContext = {}): boolean => {
    const call = digest(input, context);
    const isAgents = Boolean(context.agent?.toolCallId ?? context.toolCallId);
    const at = asked.get(call) ?? Number.NEGATIVE_INFINITY;
    return isAgents && asked.delete(call) && Date.now() - at < ASK_TIMEOUT_MS;
  };
  const wrapped = guardParts(guard, runOf, name, tool, isApproved);
  // Of the same class: Mastra looks at the class to tell its own tools.
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, wrapped);
  if (!guard.leavesToHost || tool.execute === undefined) return copy;
  const first = tool.needsApprovalFn ?? tool.requireApproval ?? tool.needsApproval;
  const needsApproval = async (input: unknown, context: unknown): Promise<boolean> => {
    const isAsked = typeof first === 'function' ? await first(input, context) : first;
    const asks = await mustAsk(runOf, name, input, context as ExecuteOptions);
    if (asks) {
      if (asked.size >= ASKED) asked.delete(asked.keys().next().value as string);
      asked.set(digest(input, context as ToolContext), Date.now());
    }
    return isAsked || asks;
  };
  return Object.assign(copy, { requireApproval: needsApproval, needsApprovalFn: needsApproval });
}

function digest(input: unknown, { requestContext }: ToolContext = {}): string {
  return hash('sha256', JSON.stringify([threadOf(requestContext), input]));
}

function readDefinition(name: string, tool: unknown): object {
  const { description, parameters, inputSchema = parameters, inputExamples, args } = tool as JsonObject;
  const { jsonSchema = inputSchema } = isObject(inputSchema) ? inputSchema : {};
  return { name, description, inputSchema: readSchema(jsonSchema), inputExamples, args };
}
