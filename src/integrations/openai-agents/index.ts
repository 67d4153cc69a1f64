/** Guards agents of `@openai/agents`. Imports nothing of it: its types are met by shape. */
import { type Decision, type Enforcement, type Guard, PortcullisBlocked, passes } from '../../policy/index.js';
import { screenTexts, type TextPart } from '../texts.js';

/** What a tool guardrail says. */
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
  callModelInputFilter<I>(args: {
    readonly modelData: { readonly input: I[]; readonly instructions?: string };
  }): Promise<{ input: I[]; instructions?: string }>;
  /** Function tools with the two guardrails added; those with a poisoned definition are left out. */
  tools<T extends object>(tools: readonly T[]): Promise<T[]>;
}

const NAME = 'portcullis';

/** Makes the guardrails. */
export function guardAgents(guard: Guard): AgentsGuard {
  const toolInputGuardrail: AgentsGuard['toolInputGuardrail'] = {
    type: 'tool_input',
    name: NAME,
    async run({ toolCall, context }) {
      const decision = await screenCall(toolCall.name, toolCall.arguments);
      if (passes(decision) || (decision.action === 'ask' && isApproved(context, toolCall))) return allowed;
      return rejected(decision.enforcement);
    },
  };
  const toolOutputGuardrail: AgentsGuard['toolOutputGuardrail'] = {
    type: 'tool_output',
    name: NAME,
    async run({ toolCall, output }) {
      const decision = await orThrown(guard.screen('tool_result', output, { tool: toolCall.name }));
      if (decision instanceof PortcullisBlocked) return rejected(decision.enforcement);
      if (!passes(decision)) return rejected(decision.enforcement);
      if (decision.value === output) return allowed;
      const { value } = decision;
      return {
        behavior: { type: 'rejectContent', message: typeof value === 'string' ? value : JSON.stringify(value) },
      };
    },
  };

  async function screenCall(name: string, args: string): Promise<Decision<unknown>> {
    const decision = await orThrown(guard.screen('tool_call', { name, arguments: parsed(args) }, { tool: name }));
    if (decision instanceof PortcullisBlocked) return { action: 'deny', enforcement: decision.enforcement };
    return decision;
  }

  async function screenItem(item: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    if (item.role === 'user') {
      const content = await shownContent(item.content, 'user', ['input_text', 'text']);
      return content === item.content ? item : { ...item, content };
    }
    if (item.role !== undefined || !('output' in item)) return item;
    const output = await shownContent(
      item.output,
      'tool_result',
      ['input_text', 'text', 'output_text'],
      String(item.name),
    );
    return output === item.output ? item : { ...item, output };
  }

  async function shownContent(
    content: unknown,
    point: 'user' | 'tool_result',
    types: readonly string[],
    tool?: string,
  ): Promise<unknown> {
    const shown = async (text: string): Promise<string> => {
      const decision = await guard.screen(point, text, { tool });
      if (passes(decision)) return decision.value;
      if (decision.action === 'refuse' || decision.action === 'stop') throw new PortcullisBlocked(decision.enforcement);
      return decision.enforcement.note;
    };
    if (typeof content === 'string') return shown(content);
    if (Array.isArray(content)) return screenTexts(content as readonly TextPart[], types, shown);
    if (typeof content !== 'object' || content === null || !('text' in content)) return content;
    const { text } = content;
    return typeof text === 'string' ? { ...content, text: await shown(text) } : content;
  }

  return {
    inputGuardrail: {
      name: NAME,
      runInParallel: false,
      async execute({ input }) {
        for (const text of userTexts(input)) {
          const decision = await orThrown(guard.screen('user', text));
          if (decision instanceof PortcullisBlocked || !['allow', 'report'].includes(decision.action)) {
            return { tripwireTriggered: true, outputInfo: toOutputInfo(decision.enforcement) };
          }
        }
        return { tripwireTriggered: false, outputInfo: null };
      },
    },
    toolInputGuardrail,
    toolOutputGuardrail,
    async callModelInputFilter({ modelData }) {
      const input = await Promise.all(
        modelData.input.map((item) => screenItem(item as Readonly<Record<string, unknown>>)),
      );
      return { ...modelData, input: input as typeof modelData.input };
    },
    async tools(tools) {
      const guarded = await Promise.all(
        tools.map(async (tool) => {
          const { type, name, description, parameters, needsApproval, inputGuardrails, outputGuardrails } =
            tool as Readonly<Record<string, unknown>>;
          if (type !== 'function') return [tool];
          const definition = await guard.screen(
            'tool_definition',
            { name, description, parameters },
            { tool: String(name) },
          );
          if (!passes(definition)) return [];
          const asks = guard.policy.tool_call === 'ask' && {
            async needsApproval(context: unknown, input: unknown, callId?: string): Promise<boolean> {
              const first =
                typeof needsApproval === 'function' ? await needsApproval(context, input, callId) : needsApproval;
              return first === true || (await screenCall(String(name), JSON.stringify(input))).action === 'ask';
            },
          };
          return [
            {
              ...tool,
              ...asks,
              inputGuardrails: [...((inputGuardrails as readonly unknown[] | undefined) ?? []), toolInputGuardrail],
              outputGuardrails: [...((outputGuardrails as readonly unknown[] | undefined) ?? []), toolOutputGuardrail],
            },
          ];
        }),
      );
      return guarded.flat();
    },
  };
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

function userTexts(input: unknown): readonly string[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input)) return [];
  return input.flatMap(({ role, content }: { role?: string; content?: unknown }) => {
    if (role !== 'user') return [];
    if (typeof content === 'string') return [content];
    const parts = Array.isArray(content) ? (content as readonly TextPart[]) : [];
    const texts = parts.filter(({ text }) => typeof text === 'string').map(({ text }) => text);
    return texts.length > 0 ? [texts.join('\n')] : [];
  });
}
