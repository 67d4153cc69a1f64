import {
  type Decision,
  type Guard,
  PortcullisBlocked,
  passes,
  type ScreenCall,
  screenedError,
} from '../../policy/index.js';
import { screenTexts } from '../texts.js';

/** The second argument of a tool's function. */
export interface ExecuteOptions {
  readonly toolCallId?: string;
  readonly messages?: readonly unknown[];
  readonly abortSignal?: AbortSignal;
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown;

/** What of a tool is wrapped. */
export interface ModelTool {
  readonly execute?: Execute;
  readonly toModelOutput?: (...args: readonly unknown[]) => unknown;
}

interface AnyTool extends ModelTool {
  readonly needsApproval?: boolean | ((input: unknown, options: ExecuteOptions) => boolean | PromiseLike<boolean>);
}

/**
 * Wraps tools of the AI SDK, also those of an MCP client: their arguments are screened before they run, then their results,
 * the outputs that a generator yields, what `toModelOutput` makes of them, and the messages of what they throw. A blocked
 * result becomes a tool error whose text is the note. With `ask` a call needs approval; one that nobody approved is denied.
 *
 * `guardModel` beside it ends the run for `stop` and `throw`; without it both only replace.
 */
export function guardTools<T extends Readonly<Record<string, object>>>(guard: Guard, tools: T): T {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guardTool(guard, name, tool)])) as T;
}

function guardTool(guard: Guard, name: string, tool: AnyTool): object {
  const { needsApproval } = tool;
  const wrapped = { ...tool, ...guardParts(guard, name, tool, (_, options) => isApproved(options)) };
  if (guard.policy.tool_call !== 'ask' || tool.execute === undefined) return wrapped;
  return {
    ...wrapped,
    async needsApproval(input: unknown, options: ExecuteOptions): Promise<boolean> {
      const asked = typeof needsApproval === 'function' ? await needsApproval(input, options) : needsApproval;
      return asked || mustAsk(guard, name, input, options);
    },
  };
}

/** Whether a person has to be asked before this call. */
export async function mustAsk(guard: Guard, name: string, input: unknown, options?: ExecuteOptions): Promise<boolean> {
  return (await screenArguments(guard, name, input, options)).action === 'ask';
}

function screenArguments(
  guard: Guard,
  name: string,
  input: unknown,
  options?: ExecuteOptions,
): Promise<Decision<unknown>> {
  return guard.screen('tool_call', { name, arguments: input ?? null }, readCall(name, options));
}

function readCall(tool: string, { abortSignal }: ExecuteOptions = {}): ScreenCall {
  return { tool, signal: abortSignal };
}

/** The functions of a tool, guarded. `isApproved` says whether a person has allowed the call that the policy asks about. */
export function guardParts(
  guard: Guard,
  name: string,
  tool: ModelTool,
  isApproved: (input: unknown, options: ExecuteOptions) => boolean,
): ModelTool {
  const { execute, toModelOutput } = tool;

  async function screenCall(input: unknown, options: ExecuteOptions): Promise<void> {
    const decision = await screenArguments(guard, name, input, options);
    if (passes(decision) || (decision.action === 'ask' && isApproved(input, options))) return;
    throw new PortcullisBlocked(decision.enforcement);
  }

  async function screenResult<R>(result: R, call: ScreenCall): Promise<R> {
    const decision = await guard.screen('tool_result', result, call);
    if (passes(decision)) return decision.value;
    throw new PortcullisBlocked(decision.enforcement);
  }

  const wrapped: { execute?: Execute; toModelOutput?: NonNullable<ModelTool['toModelOutput']> } = {};
  if (execute !== undefined) {
    wrapped.execute = isGenerator(execute)
      ? async function* (input: unknown, options: ExecuteOptions): AsyncGenerator<unknown> {
          await screenCall(input, options);
          const results = (execute.call(tool, input, options) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
          for (;;) {
            const next = await failing(() => results.next(), options);
            if (next.done) return;
            yield await screenResult(next.value, readCall(name, options));
          }
        }
      : async (input: unknown, options: ExecuteOptions): Promise<unknown> => {
          await screenCall(input, options);
          const result = await failing(async () => findLast(await execute.call(tool, input, options)), options);
          return screenResult(result, readCall(name, options));
        };
  }
  if (toModelOutput !== undefined) {
    wrapped.toModelOutput = async (...args: readonly unknown[]): Promise<unknown> =>
      screenOutput((await toModelOutput.apply(tool, [...args])) as { type: string; value?: unknown });
  }
  return wrapped;

  async function failing<R>(run: () => R | Promise<R>, options: ExecuteOptions): Promise<R> {
    try {
      return await run();
    } catch (error) {
      throw await screenedError(guard, error, readCall(name, options));
    }
  }

  async function screenOutput(output: { readonly type: string; readonly value?: unknown }): Promise<unknown> {
    if (output.value === undefined) return output;
    try {
      const value =
        output.type === 'content' && Array.isArray(output.value)
          ? await screenTexts(output.value, ['text'], (text) => screenResult(text, { tool: name }))
          : await screenResult(output.value, { tool: name });
      return value === output.value ? output : { ...output, value };
    } catch (error) {
      // The SDK has no way to fail here but to end the run.
      if (error instanceof PortcullisBlocked && error.enforcement.action !== 'throw') {
        return { type: 'error-text', value: error.message };
      }
      throw error;
    }
  }
}

function isGenerator(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]';
}

/** A plain function may return an iterable too; its last output is the result. */
async function findLast(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const output of result as AsyncIterable<unknown>) last = output;
  return last;
}

/** Whether the conversation has a person's approval of this very call. */
function isApproved({ toolCallId, messages = [] }: ExecuteOptions): boolean {
  const parts = messages.flatMap((message) => {
    const { content } = message as { content?: unknown };
    return Array.isArray(content) ? (content as readonly Readonly<Record<string, unknown>>[]) : [];
  });
  const asked = parts.filter((part) => part.type === 'tool-approval-request' && part.toolCallId === toolCallId);
  return parts.some(
    (part) =>
      part.type === 'tool-approval-response' &&
      part.approved === true &&
      asked.some(({ approvalId }) => approvalId === part.approvalId),
  );
}
