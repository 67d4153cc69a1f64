/** Guards agents of `@openai/agents`. Imports nothing of it: its types are met by shape. */
import {
  type Decision,
  type Enforcement,
  type Guard,
  newestTurn,
  PortcullisBlocked,
  passes,
} from '../../policy/index.js';
import { authorOf, screenItems } from '../openai/items.js';
import { type CallScreening, isObject, type Members, screenCall, showEach } from '../screened-call.js';

/** Result of a tool guardrail. */
export interface ToolGuardrailOutput {
  readonly outputInfo?: unknown;
  readonly behavior: { type: 'allow' } | { type: 'rejectContent'; message: string } | { type: 'throwException' };
}

interface ToolCallData {
  readonly toolCall: { readonly name: string; readonly arguments: string; readonly callId?: string };
  readonly context?: unknown;
}

/** The guardrails of one guard, each for its place in the SDK. */
export interface AgentsGuard {
  /** For `inputGuardrails` of an agent. Screens before the model is called, and stops the run by a tripwire. */
  readonly inputGuardrail: {
    name: string;
    runInParallel: false;
    execute(args: { readonly input: unknown }): Promise<{ tripwireTriggered: boolean; outputInfo: unknown }>;
  };
  /** For `inputGuardrails` of a tool and `toolInputGuardrails` of an MCP server. */
  readonly toolInputGuardrail: {
    type: 'tool_input';
    name: string;
    run(data: ToolCallData): Promise<ToolGuardrailOutput>;
  };
  /** For `outputGuardrails` of a tool and `toolOutputGuardrails` of an MCP server: results and failures. */
  readonly toolOutputGuardrail: {
    type: 'tool_output';
    name: string;
    run(data: ToolCallData & { readonly output: unknown }): Promise<ToolGuardrailOutput>;
  };
  /**
   * For `callModelInputFilter` of a runner or a run: screens everything before every model call of every agent of the run,
   * and is the one hook that can redact a user's text. @throws PortcullisBlocked for a refused text
   */
  callModelInputFilter<I extends object>(args: {
    readonly modelData: { readonly input: I[]; readonly instructions?: string };
    readonly context?: unknown;
  }): Promise<{ input: I[]; instructions?: string }>;
  /** Function tools with the two guardrails added; tools of any kind with a poisoned definition are left out. */
  tools<T extends object>(tools: readonly T[]): Promise<T[]>;
  /** An MCP server with the two guardrails added; those of its tools with a poisoned definition are left out. */
  mcpServer<S extends McpServer>(server: S): S;
  /**
   * A model that is shown what the filter would show it, and whose messages lose ways out, also in a stream. Raw events of the
   * provider that may repeat a message are left out of it. @throws PortcullisBlocked for a refused text
   */
  model<M extends AgentModel>(model: M): M;
}

interface AgentModel {
  getResponse(request: never): Promise<{ readonly output: readonly unknown[] }>;
  getStreamedResponse(request: never): AsyncIterable<unknown>;
}

interface AgentModelRequest {
  readonly systemInstructions?: string;
  readonly input: unknown;
  readonly signal?: AbortSignal;
}

interface McpServer {
  readonly toolInputGuardrails?: readonly unknown[] | undefined;
  readonly toolOutputGuardrails?: readonly unknown[] | undefined;
  listTools(): Promise<readonly unknown[]>;
}

interface ToolMembers extends Members {
  readonly inputGuardrails?: readonly unknown[];
  readonly outputGuardrails?: readonly unknown[];
}

const NAME = 'portcullis';

/**
 * Makes the guardrails.
 *
 * @example
 * ```ts
 * const { callModelInputFilter, inputGuardrail, model, tools } = guardAgents(guard);
 * const agent = new Agent({ name, model: model(gpt), tools: await tools([readPage]), inputGuardrails: [inputGuardrail] });
 * await new Runner({ callModelInputFilter }).run(agent, prompt);
 * ```
 */
export function guardAgents(guard: Guard): AgentsGuard {
  const toolInputGuardrail: AgentsGuard['toolInputGuardrail'] = {
    type: 'tool_input',
    name: NAME,
    async run({ toolCall, context }) {
      const decision = await screenArguments(toolCall.name, toolCall.arguments, context);
      if (passes(decision) || (decision.action === 'ask' && isApproved(context, toolCall))) return allowed;
      return rejected(decision.enforcement);
    },
  };
  const toolOutputGuardrail: AgentsGuard['toolOutputGuardrail'] = {
    type: 'tool_output',
    name: NAME,
    async run({ toolCall, output, context }) {
      const call = { tool: toolCall.name, runId: contextOf(context) };
      const decision = await orThrown(guard.screen('tool_result', output, call));
      if (decision instanceof PortcullisBlocked) return rejected(decision.enforcement);
      if (!passes(decision)) return rejected(decision.enforcement);
      if (decision.value === output) return allowed;
      const { value } = decision;
      return {
        behavior: { type: 'rejectContent', message: typeof value === 'string' ? value : JSON.stringify(value) },
      };
    },
  };

  async function screenArguments(name: string, args: string, context: unknown): Promise<Decision<unknown>> {
    const call = { tool: name, runId: contextOf(context) };
    const decision = await orThrown(guard.screen('tool_call', { name, arguments: parsed(args) }, call));
    if (decision instanceof PortcullisBlocked) return { action: 'deny', enforcement: decision.enforcement };
    return decision;
  }

  /** A function tool with the guardrails added, and with `ask` the approval. */
  function guardTool<T extends object>(tool: T): T {
    const { type, name, needsApproval, inputGuardrails = [], outputGuardrails = [] } = tool as ToolMembers;
    if (type !== 'function') return tool;
    const asks = guard.leavesToHost && {
      async needsApproval(context: unknown, input: unknown, callId?: string): Promise<boolean> {
        const first = typeof needsApproval === 'function' ? await needsApproval(context, input, callId) : needsApproval;
        return first === true || (await screenArguments(String(name), JSON.stringify(input), context)).action === 'ask';
      },
    };
    return {
      ...tool,
      ...asks,
      inputGuardrails: [...inputGuardrails, toolInputGuardrail],
      outputGuardrails: [...outputGuardrails, toolOutputGuardrail],
    };
  }

  return {
    inputGuardrail: {
      name: NAME,
      runInParallel: false,
      async execute({ input }) {
        for (const content of newestContents(input)) {
          const decision = await orThrown(guard.screen('user', content));
          if (decision instanceof PortcullisBlocked || !['allow', 'report'].includes(decision.action)) {
            return { tripwireTriggered: true, outputInfo: toOutputInfo(decision.enforcement) };
          }
        }
        return { tripwireTriggered: false, outputInfo: null };
      },
    },
    toolInputGuardrail,
    toolOutputGuardrail,
    async callModelInputFilter({ modelData, context }) {
      const screening = screenCall(guard, { runId: isObject(context) ? context : undefined });
      const input = await screenInput(screening, modelData.instructions, modelData.input);
      return { ...modelData, input: [...input] };
    },
    tools: async (tools) => (await screenCall(guard).tools(tools, readDefinition)).map(guardTool),
    mcpServer(server) {
      const { toolInputGuardrails = [], toolOutputGuardrails = [] } = server;
      return withMembers(server, {
        listTools: async () => screenCall(guard).tools(await server.listTools()),
        toolInputGuardrails: [...toolInputGuardrails, toolInputGuardrail],
        toolOutputGuardrails: [...toolOutputGuardrails, toolOutputGuardrail],
      });
    },
    model: (model) => guardAgentModel(guard, model),
  };
}

function guardAgentModel<M extends AgentModel>(guard: Guard, model: M): M {
  async function follow(request: AgentModelRequest): Promise<{ screening: CallScreening; shown: never }> {
    const { systemInstructions, input, signal } = request;
    const screening = screenCall(guard, { signal });
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly object[]);
    const shown = await screenInput(screening, systemInstructions, items);
    return { screening, shown: { ...request, input: [...shown] } as never };
  }
  return withMembers(model, {
    async getResponse(request: AgentModelRequest) {
      const { screening, shown } = await follow(request);
      return showResponse(screening, await model.getResponse(shown));
    },
    async *getStreamedResponse(request: AgentModelRequest) {
      const { screening, shown } = await follow(request);
      yield* showEvents(screening, model.getStreamedResponse(shown));
    },
  });
}

/** Returns what a model is shown. @throws PortcullisBlocked for a refused text */
async function screenInput<I extends object>(
  screening: CallScreening,
  instructions: unknown,
  input: readonly I[],
): Promise<readonly I[]> {
  screening.trust(instructions);
  const shown = await screenItems(screening, input);
  if (screening.refusal !== undefined) throw new PortcullisBlocked(screening.refusal);
  return shown;
}

/** A response whose messages have no ways out. */
async function showResponse<R extends { readonly output: readonly unknown[] }>(
  screening: CallScreening,
  response: R,
): Promise<R> {
  const isMessage = (item: unknown): boolean => isObject(item) && item.type === 'message';
  const output = await showEach(response.output, async (item) => [
    isMessage(item) ? await screening.answer(item) : item,
  ]);
  return { ...response, output };
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
      yield textDelta(itemId, await streamed.write(itemId, String(delta)));
      continue;
    }
    if (event.type !== 'response_done') yield event;
    else {
      yield* endTexts();
      const response = event.response as { readonly output: readonly unknown[] };
      yield { ...event, response: await showResponse(screening, response) };
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

/** An object with other members; of the same class, and with its private ones. */
function withMembers<O extends object>(object: O, members: Members): O {
  return new Proxy(object, {
    get(target, name) {
      if (typeof name === 'string' && Object.hasOwn(members, name)) return members[name];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** The description of a tool for the model: its code says nothing to it. */
function readDefinition(tool: object): unknown {
  const code = ['needsApproval', 'inputGuardrails', 'outputGuardrails', 'shell', 'editor', 'computer'];
  const said = Object.entries(tool).filter(([name]) => !code.includes(name));
  const { providerData, ...others } = Object.fromEntries(said) as { providerData?: object };
  return { ...others, ...providerData };
}

const allowed: ToolGuardrailOutput = { behavior: { type: 'allow' } };

function rejected(enforcement: Enforcement): ToolGuardrailOutput {
  const ends = enforcement.action === 'throw' || enforcement.action === 'stop';
  const behavior: ToolGuardrailOutput['behavior'] = ends
    ? { type: 'throwException' }
    : { type: 'rejectContent', message: enforcement.note };
  return { behavior, outputInfo: toOutputInfo(enforcement) };
}

/** The SDK prints it: no input. */
function toOutputInfo(enforcement: Enforcement | undefined): unknown {
  return enforcement ?? null;
}

/** The SDK has its own exception for runs that a guardrail stops. */
async function orThrown<T>(decision: Promise<Decision<T>>): Promise<Decision<T> | PortcullisBlocked> {
  try {
    return await decision;
  } catch (error) {
    if (error instanceof PortcullisBlocked) return error;
    throw error;
  }
}

/** The user's own context, which all hooks of a run are given. The SDK makes one where the user has none. */
function contextOf(context: unknown): object | undefined {
  return isObject(context) && isObject(context.context) ? context.context : undefined;
}

function isApproved(context: unknown, { name, callId }: ToolCallData['toolCall']): boolean {
  if (typeof context !== 'object' || context === null || !('isToolApproved' in context)) return false;
  const { isToolApproved } = context as { isToolApproved(call: object): unknown };
  return isToolApproved.call(context, { toolName: name, callId }) === true;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A model may write what is no JSON: screened as it is.
    return json;
  }
}

/** Returns the contents of the user's newest turn; the filter covers earlier ones. */
function newestContents(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) return [input];
  const items = input.filter(isObject);
  const isUser = (item: (typeof items)[number]): boolean => authorOf(item) === 'user';
  return items
    .slice(newestTurn(items, isUser))
    .filter(isUser)
    .map(({ content }) => content);
}
