import {
  allowCall,
  type Guard,
  PortcullisBlocked,
  passes,
  type Run,
  type ScreenCall,
  screenedError,
} from '../../policy/index.js';
import { createSteps } from '../screened-call.js';
import { screenOutput, screenPrompt } from './prompt.js';

/** The second argument of a tool's function. */
export interface ExecuteOptions {
  readonly toolCallId?: string;
  readonly messages?: readonly unknown[];
  readonly abortSignal?: AbortSignal;
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown;

/** Finds the run that a call belongs to. */
export type RunOf = (options: ExecuteOptions | undefined) => Promise<Pick<Run, 'screen'>>;

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
 *
 * @example
 * ```ts
 * const { text } = await generateText({ model, tools: guardTools(guard, { readPage }), prompt });
 * ```
 */
export function guardTools<T extends Readonly<Record<string, object>>>(guard: Guard, tools: T): T {
  const run = Object.entries(tools).flatMap(([name, tool]) => ('execute' in tool ? [name] : []));
  wrapped.set(guard, new Set([...(wrapped.get(guard) ?? []), ...run]));
  const screeningOf = createSteps(guard, screenPrompt);
  const runOf: RunOf = (options) => screeningOf(options?.messages);
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guardTool(guard, runOf, name, tool)]),
  ) as T;
}

/** Names of the tools whose calls are screened where they run. */
const wrapped = new WeakMap<Guard, ReadonlySet<string>>();

/** Whether a guard has wrapped the function of a tool. */
export function isWrapped(guard: Guard, name: unknown): boolean {
  return wrapped.get(guard)?.has(String(name)) ?? false;
}

function guardTool(guard: Guard, runOf: RunOf, name: string, tool: AnyTool): object {
  const { needsApproval } = tool;
  // A function that isn't async may return an iterable: its outputs are shown as they come, the last one twice where it is one.
  const streams = tool.execute !== undefined && !isTagged(tool.execute, 'AsyncFunction');
  const guarded = { ...tool, ...guardParts(guard, runOf, name, tool, (_, options) => isApproved(options), streams) };
  if (!guard.leavesToHost || tool.execute === undefined) return guarded;
  return {
    ...guarded,
    async needsApproval(input: unknown, options: ExecuteOptions): Promise<boolean> {
      const asked = typeof needsApproval === 'function' ? await needsApproval(input, options) : needsApproval;
      return asked || mustAsk(runOf, name, input, options);
    },
  };
}

/** Whether a person has to be asked before this call. */
export async function mustAsk(runOf: RunOf, name: string, input: unknown, options?: ExecuteOptions): Promise<boolean> {
  const call = { name, arguments: input ?? null };
  const run = await runOf(options);
  return (await run.screen('tool_call', call, readCall(name, options))).action === 'ask';
}

function readCall(tool: string, { abortSignal }: ExecuteOptions = {}): ScreenCall {
  return { tool, signal: abortSignal };
}

/**
 * The functions of a tool, guarded. `isApproved` says whether a person has allowed the call that the policy asks about;
 * `streams`, whether the host is given each output of an iterable, or the last one alone.
 */
export function guardParts(
  guard: Guard,
  runOf: RunOf,
  name: string,
  tool: ModelTool,
  isApproved: (input: unknown, options: ExecuteOptions) => boolean,
  streams: boolean = isTagged(tool.execute, 'AsyncGeneratorFunction'),
): ModelTool {
  const { execute, toModelOutput } = tool;

  async function screenResult<R>(run: Pick<Run, 'screen'>, result: R, call: ScreenCall): Promise<R> {
    const decision = await run.screen('tool_result', result, call);
    if (passes(decision)) return decision.value;
    throw new PortcullisBlocked(decision.enforcement);
  }

  async function* outputs(work: Execute, input: unknown, options: ExecuteOptions): AsyncGenerator<unknown> {
    const call = readCall(name, options);
    const run = await runOf(options);
    await allowCall(run, name, input, call, () => isApproved(input, options));
    const result = await failing(run, () => work.call(tool, input, options), call);
    if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) {
      yield await screenResult(run, result, call);
      return;
    }
    const results = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    for (;;) {
      const next = await failing(run, () => results.next(), call);
      if (next.done) return;
      yield await screenResult(run, next.value, call);
    }
  }

  const wrapped: { execute?: Execute; toModelOutput?: NonNullable<ModelTool['toModelOutput']> } = {};
  if (execute !== undefined) {
    wrapped.execute = streams
      ? (input, options) => outputs(execute, input, options)
      : async (input, options): Promise<unknown> => {
          let last: unknown;
          for await (const output of outputs(execute, input, options)) last = output;
          return last;
        };
  }
  if (toModelOutput !== undefined) {
    wrapped.toModelOutput = async (...args) =>
      screenOutput(guard, await toModelOutput.apply(tool, [...args]), { tool: name });
  }
  return wrapped;

  async function failing<R>(run: Pick<Run, 'screen'>, work: () => R | Promise<R>, call: ScreenCall): Promise<R> {
    try {
      return await work();
    } catch (error) {
      throw await screenedError(run, error, call);
    }
  }
}

function isTagged(run: unknown, tag: string): boolean {
  return Object.prototype.toString.call(run) === `[object ${tag}]`;
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
