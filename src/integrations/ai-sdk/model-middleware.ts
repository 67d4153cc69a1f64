import { type Enforcement, type Guard, passes, type ScreenCall } from '../../policy/index.js';
import { screenMessages } from './prompt.js';

/** What the middleware reads of a model call's parameters, in versions 3 and 4 of the model specification. */
export interface CallParams {
  readonly prompt: readonly unknown[];
  readonly tools?: readonly unknown[] | undefined;
  readonly toolChoice?: { readonly type: string; readonly toolName?: string } | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A `LanguageModelMiddleware` of the AI SDK. */
export interface GuardMiddleware<V extends 'v3' | 'v4'> {
  readonly specificationVersion: V;
  transformParams<P extends CallParams>(options: { readonly params: P }): Promise<P>;
  wrapGenerate<R>(options: { readonly doGenerate: () => PromiseLike<R>; readonly params: CallParams }): Promise<R>;
  wrapStream<R extends { readonly stream: unknown }>(options: {
    readonly doStream: () => PromiseLike<R>;
    readonly params: CallParams;
  }): Promise<R>;
}

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/**
 * A middleware for `wrapLanguageModel`: screens all that a call would show the model (user texts, text files, tool results,
 * failed tools, tool definitions) and the results of tools that the provider runs. A refused call isn't made: its answer
 * is the note, with finish reason `content-filter`.
 *
 * AI SDK 6 wants `specificationVersion: 'v3'`; 7 the default.
 */
export function guardModel<V extends 'v3' | 'v4' = 'v4'>(
  guard: Guard,
  options: { readonly specificationVersion?: V } = {},
): GuardMiddleware<V> {
  /** What to answer in place of the provider, by the parameters that `transformParams` returned. */
  const refusals = new WeakMap<object, Enforcement>();

  async function screenResultPart<P>(part: P, call: ScreenCall): Promise<P> {
    const { type, result, toolName } = part as { type?: string; result?: unknown; toolName?: string };
    if (type !== 'tool-result') return part;
    const decision = await guard.screen('tool_result', result, { ...call, tool: toolName });
    if (!passes(decision)) return { ...part, result: decision.enforcement.note, isError: true };
    return decision.value === result ? part : { ...part, result: decision.value };
  }

  return {
    specificationVersion: (options.specificationVersion ?? 'v4') as V,
    async transformParams({ params }) {
      const call = { signal: params.abortSignal };
      const { prompt, refusal } = await screenMessages(guard, params.prompt, call);
      const tools = await shownTools(guard, params.tools, call);
      const { toolChoice } = params;
      const isGone =
        toolChoice?.type === 'tool' &&
        tools !== params.tools &&
        !tools?.some((tool) => readName(tool) === toolChoice.toolName);
      const screened = {
        ...params,
        prompt,
        ...(tools === params.tools ? {} : { tools }),
        ...(isGone ? { toolChoice: undefined } : {}),
      };
      if (refusal !== undefined) refusals.set(screened, refusal);
      return screened;
    },
    async wrapGenerate({ doGenerate, params }) {
      const refusal = refusals.get(params);
      if (refusal !== undefined) {
        const answer = {
          content: [{ type: 'text', text: refusal.note }],
          finishReason: { unified: 'content-filter', raw: 'portcullis' },
          usage: NO_TOKENS,
          warnings: [],
          providerMetadata: buildMetadata(refusal),
        };
        return answer as never;
      }
      const result = await doGenerate();
      const { content } = result as { content?: readonly unknown[] };
      if (!content?.some((part) => (part as { type?: string }).type === 'tool-result')) return result;
      const call = { signal: params.abortSignal };
      return { ...result, content: await Promise.all(content.map((part) => screenResultPart(part, call))) };
    },
    async wrapStream({ doStream, params }) {
      const refusal = refusals.get(params);
      if (refusal !== undefined) return { stream: toStream(refusalParts(refusal)) } as never;
      const result = await doStream();
      const call = { signal: params.abortSignal };
      const screening = new TransformStream<unknown, unknown>({
        async transform(part, controller) {
          controller.enqueue(await screenResultPart(part, call));
        },
      });
      return { ...result, stream: (result.stream as ReadableStream<unknown>).pipeThrough(screening) };
    },
  };
}

/** The tools whose definitions pass; the same list where all do. */
async function shownTools(
  guard: Guard,
  tools: readonly unknown[] | undefined,
  call: ScreenCall,
): Promise<readonly unknown[] | undefined> {
  if (tools === undefined) return undefined;
  const shown = await Promise.all(
    tools.map(async (tool) => {
      const { type: _, providerOptions: __, ...definition } = tool as Readonly<Record<string, unknown>>;
      return passes(await guard.screen('tool_definition', definition, { ...call, tool: String(definition.name) }));
    }),
  );
  return shown.every(Boolean) ? tools : tools.filter((_, index) => shown[index]);
}

function readName(tool: unknown): unknown {
  return (tool as { name?: unknown }).name;
}

function refusalParts(refusal: Enforcement): readonly unknown[] {
  const id = refusal.evidenceId;
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: refusal.note },
    { type: 'text-end', id },
    {
      type: 'finish',
      finishReason: { unified: 'content-filter', raw: 'portcullis' },
      usage: NO_TOKENS,
      providerMetadata: buildMetadata(refusal),
    },
  ];
}

function buildMetadata({ evidenceId, runId, rule }: Enforcement): object {
  return { portcullis: { evidenceId, runId, rule } };
}

function toStream(parts: readonly unknown[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
