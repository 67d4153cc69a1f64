/** Guards agents of `@mastra/core`. Imports nothing of it: its types are met by shape. */
import { createHash } from 'node:crypto';
import { type Enforcement, type Guard, passes, type ScreenCall } from '../../policy/index.js';
import { type ExecuteOptions, guardParts, type ModelTool, mustAsk } from '../ai-sdk/guard-tools.js';
import { screenMessages } from '../ai-sdk/prompt.js';
import { showContent } from '../content.js';

/** Of Mastra's list of messages, the system messages that its memory adds: what it recalls of other conversations. */
interface MemoryMessages {
  getSystemMessages(tag: 'memory'): readonly { readonly content: unknown }[];
  clearSystemMessages(tag: 'memory'): unknown;
  addSystem(messages: object, tag: 'memory'): unknown;
}

interface StepArguments {
  readonly abort: (reason?: string, options?: { metadata?: unknown }) => never;
  readonly abortSignal?: AbortSignal;
}

/** A `Processor` of Mastra, for the `inputProcessors` of an agent. */
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
}

/**
 * A processor that screens all that each model call would show the model: user texts, also those that the memory recalls,
 * text files, tool results, failed tools and tool definitions. A refused run ends with a tripwire: its reason is the note,
 * its metadata has the evidence id.
 *
 * @throws PortcullisBlocked inside the run, for the action `throw`
 */
export function guardProcessor(guard: Guard): GuardProcessor {
  const refuse = (refusal: Enforcement, abort: StepArguments['abort']): never => {
    const { evidenceId, runId, rule, action } = refusal;
    return abort(refusal.note, { metadata: { portcullis: { evidenceId, runId, rule, action } } });
  };

  return {
    id: 'portcullis',
    async processInput({ messageList, abortSignal }) {
      // Here too: before 1.71 the messages of the memory lose their tag ahead of the first step.
      await screenMemory(guard, messageList as MemoryMessages, { signal: abortSignal });
      return messageList;
    },
    async processInputStep(args) {
      const { tools = {}, toolChoice, abortSignal } = args;
      await screenMemory(guard, args.messageList as MemoryMessages | undefined, { signal: abortSignal });
      const shown = await Promise.all(
        Object.entries(tools).map(async ([name, tool]) => {
          const call = { tool: name, signal: abortSignal };
          const decision = await guard.screen('tool_definition', readDefinition(name, tool), call);
          return passes(decision) ? [[name, tool] as const] : [];
        }),
      );
      if (shown.every(({ length }) => length === 1)) return undefined;
      const kept = Object.fromEntries(shown.flat());
      const { toolName } = (toolChoice ?? {}) as { toolName?: string };
      return { tools: kept, ...(toolName !== undefined && !(toolName in kept) ? { toolChoice: 'auto' } : {}) };
    },
    async processLLMRequest(args) {
      const { prompt } = args;
      const screened = await screenMessages(guard, prompt, { signal: args.abortSignal });
      if (screened.refusal !== undefined) return refuse(screened.refusal, args.abort);
      const isSame = screened.prompt.every((message, index) => message === prompt[index]);
      return isSame ? undefined : { prompt: screened.prompt as typeof prompt };
    },
  };
}

/** What the memory recalls of other conversations stands in the system prompt; the operator's own messages pass. */
async function screenMemory(guard: Guard, messages: MemoryMessages | undefined, call: ScreenCall): Promise<void> {
  const recalled = messages?.getSystemMessages?.('memory') ?? [];
  const shown = await Promise.all(
    recalled.map(async (message) => {
      const { content } = await showContent(guard, 'document', message.content, call);
      return content === message.content ? message : { ...message, content };
    }),
  );
  if (messages === undefined || shown.every((message, index) => message === recalled[index])) return;
  messages.clearSystemMessages('memory');
  for (const message of shown) messages.addSystem(message, 'memory');
}

/** Calls that a person was asked about and has not answered yet. */
const ASKED = 1_000;

/**
 * Wraps tools of Mastra or the AI SDK: their arguments are screened before they run, then their results and the messages of
 * what they throw. A blocked result becomes a tool error whose text is the note. With `ask` a call needs approval; one that
 * nobody approved is denied, also where the approval comes to another process.
 *
 * `guardProcessor` beside it ends the run for `stop` and `throw`; without it both only replace.
 */
export function guardTools<T extends Readonly<Record<string, object>>>(guard: Guard, tools: T): T {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guardTool(guard, name, tool)])) as T;
}

interface MastraTool extends ModelTool {
  readonly requireApproval?: Approval;
  readonly needsApproval?: Approval;
  readonly needsApprovalFn?: Approval;
}
type Approval = boolean | ((input: unknown, context: unknown) => boolean | PromiseLike<boolean>);

function guardTool(guard: Guard, name: string, tool: MastraTool): object {
  const asked = new Set<string>();
  // Mastra runs a call that needs approval only once a person has approved it.
  const isApproved = (input: unknown): boolean => asked.delete(digest(input));
  const wrapped = guardParts(guard, name, tool, isApproved);
  // Of the same class: Mastra looks at the class to tell its own tools.
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, wrapped);
  if (guard.policy.tool_call !== 'ask' || tool.execute === undefined) return copy;
  const first = tool.needsApprovalFn ?? tool.requireApproval ?? tool.needsApproval;
  const needsApproval = async (input: unknown, context: unknown): Promise<boolean> => {
    const isAsked = typeof first === 'function' ? await first(input, context) : first;
    const asks = await mustAsk(guard, name, input, context as ExecuteOptions);
    if (asks) {
      if (asked.size >= ASKED) asked.delete(asked.values().next().value as string);
      asked.add(digest(input));
    }
    return isAsked || asks;
  };
  return Object.assign(copy, { requireApproval: needsApproval, needsApprovalFn: needsApproval });
}

function digest(input: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? '')
    .digest('hex');
}

/** The description of a tool for the model. */
function readDefinition(name: string, tool: unknown): object {
  const { description, parameters, inputSchema, inputExamples } = tool as {
    description?: unknown;
    inputExamples?: unknown;
    parameters?: { jsonSchema?: unknown };
    inputSchema?: { jsonSchema?: unknown };
  };
  return { name, description, inputSchema: parameters?.jsonSchema ?? inputSchema?.jsonSchema, inputExamples };
}
