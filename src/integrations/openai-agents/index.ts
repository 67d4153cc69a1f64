/** Guards agents of `@openai/agents`. Imports nothing of it: its types are met by shape. */
import {
  type Decision,
  type Enforcement,
  type Guard,
  newestTurn,
  PortcullisBlocked,
  passes,
} from '../../policy/index.js';
import { isObject, type JsonObject, parsedJson } from '../json-value.js';
import { authorOf } from '../openai/items.js';
import { CallScreening } from '../screened-call.js';
import { withMembers } from '../with-members.js';
import { type AgentModel, guardAgentModel, screenInput } from './agent-model.js';

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
   * A model that is shown what the filter would show it. Links and images that could leak data are removed from the model's texts,
   * also in a stream, without the provider's raw events that may repeat a message. @throws PortcullisBlocked for a refused text
   */
  model<M extends AgentModel>(model: M): M;
}

interface McpServer {
  readonly toolInputGuardrails?: readonly unknown[] | undefined;
  readonly toolOutputGuardrails?: readonly unknown[] | undefined;
  listTools(): Promise<readonly unknown[]>;
}

interface ToolMembers extends JsonObject {
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
  const guardrails = toolGuardrails(guard);
  const { toolInputGuardrail, toolOutputGuardrail } = guardrails;
  return {
    ...guardrails,
    inputGuardrail: {
      name: NAME,
      runInParallel: false,
      async execute({ input }) {
        for (const content of newestContents(input)) {
          const { action, enforcement } = await decided(guard.screen('user', content));
          // A guardrail can't redact. The SDK prints the info: no input.
          if (action !== 'allow' && action !== 'report') return { tripwireTriggered: true, outputInfo: enforcement };
        }
        return { tripwireTriggered: false, outputInfo: null };
      },
    },
    async callModelInputFilter({ modelData, context }) {
      const screening = new CallScreening(guard, { runId: isObject(context) ? context : undefined });
      const input = await screenInput(screening, modelData.instructions, modelData.input);
      return { ...modelData, input: [...input] };
    },
    async tools(tools) {
      const shown = await new CallScreening(guard).tools(tools, readDefinition);
      return shown.map((tool) => guardTool(guard, guardrails, tool));
    },
    mcpServer(server) {
      const { toolInputGuardrails = [], toolOutputGuardrails = [] } = server;
      return withMembers(server, {
        listTools: async () => new CallScreening(guard).tools(await server.listTools()),
        toolInputGuardrails: [...toolInputGuardrails, toolInputGuardrail],
        toolOutputGuardrails: [...toolOutputGuardrails, toolOutputGuardrail],
      });
    },
    model: (model) => guardAgentModel(guard, model),
  };
}

type ToolGuardrails = Pick<AgentsGuard, 'toolInputGuardrail' | 'toolOutputGuardrail'>;

function toolGuardrails(guard: Guard): ToolGuardrails {
  return {
    toolInputGuardrail: {
      type: 'tool_input',
      name: NAME,
      async run({ toolCall, context }) {
        const decision = await screenArguments(guard, toolCall.name, parsedJson(toolCall.arguments), context);
        const isAllowed = passes(decision) || (decision.action === 'ask' && isApproved(context, toolCall));
        return isAllowed ? allowed : rejected(decision.enforcement as Enforcement);
      },
    },
    toolOutputGuardrail: {
      type: 'tool_output',
      name: NAME,
      async run({ toolCall, output, context }) {
        const call = { tool: toolCall.name, runId: contextOf(context) };
        const decision = await decided(guard.screen('tool_result', output, call));
        if (!passes(decision)) return rejected(decision.enforcement);
        const { value } = decision;
        if (value === output) return allowed;
        const message = typeof value === 'string' ? value : JSON.stringify(value);
        return { behavior: { type: 'rejectContent', message } };
      },
    },
  };
}

/** A function tool with the guardrails added, and with `ask` the approval. */
function guardTool<T extends object>(guard: Guard, guardrails: ToolGuardrails, tool: T): T {
  const { type, name, needsApproval, inputGuardrails = [], outputGuardrails = [] } = tool as ToolMembers;
  if (type !== 'function') return tool;
  const asks = guard.leavesToHost && {
    async needsApproval(context: unknown, input: unknown, callId?: string): Promise<boolean> {
      const first = typeof needsApproval === 'function' ? await needsApproval(context, input, callId) : needsApproval;
      return first === true || (await screenArguments(guard, String(name), input, context)).action === 'ask';
    },
  };
  return {
    ...tool,
    ...asks,
    inputGuardrails: [...inputGuardrails, guardrails.toolInputGuardrail],
    outputGuardrails: [...outputGuardrails, guardrails.toolOutputGuardrail],
  };
}

function screenArguments(guard: Guard, name: string, args: unknown, context: unknown): Promise<Decision<unknown>> {
  return decided(guard.screen('tool_call', { name, arguments: args }, { tool: name, runId: contextOf(context) }));
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
  return { behavior, outputInfo: enforcement };
}

/** The SDK has its own exception for runs that a guardrail stops. */
async function decided<T>(screened: Promise<Decision<T>>): Promise<Decision<T>> {
  try {
    return await screened;
  } catch (error) {
    if (error instanceof PortcullisBlocked) return { action: 'deny', enforcement: error.enforcement };
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

function newestContents(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) return [input];
  const items = input.filter(isObject);
  const isUser = (item: (typeof items)[number]): boolean => authorOf(item) === 'user';
  return items
    .slice(newestTurn(items, isUser))
    .filter(isUser)
    .map(({ content }) => content);
}
