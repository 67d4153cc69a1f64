import { checkOptions } from '../../engine/options.js';
import { type Enforcement, type Guard, passes } from '../../policy/index.js';
import { isObject, showEach, withMember } from '../json-value.js';
import { CallScreening } from '../screened-call.js';
import { isWrapped } from './guard-tools.js';
import { screenPrompt } from './prompt.js';

/** Parameters of a model call that the middleware reads, in versions 3 and 4 of the model specification. */
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
 * failed tools, tool definitions) and the results of tools that the provider runs. Texts lose ways out. A refused call isn't
 * made: its answer is the note, with finish reason `content-filter`.
 *
 * AI SDK 6 wants `specificationVersion: 'v3'`; 7 the default.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * const guarded = wrapLanguageModel({ model, middleware: guardModel(guard) });
 * ```
 */
export function guardModel<V extends 'v3' | 'v4' = 'v4'>(
  guard: Guard,
  options: { readonly specificationVersion?: V } = {},
): GuardMiddleware<V> {
  checkOptions('guardModel', options, ['specificationVersion']);
  /** The screening of the parameters that `transformParams` returned. */
  const screenings = new WeakMap<object, CallScreening>();

  function screeningOf(params: CallParams): CallScreening {
    const screening = screenings.get(params) ?? new CallScreening(guard, { signal: params.abortSignal });
    screenings.set(params, screening);
    return screening;
  }

  /** A part of a stream, with what was held back of a text where that ends. */
  async function showStreamed(part: unknown, params: CallParams): Promise<readonly unknown[]> {
    const { streamed } = screeningOf(params);
    if (!isObject(part) || (part.type !== 'text-delta' && part.type !== 'text-end'))
      return showPart(part, params, textParts);
    const { id, delta, ...others } = part;
    const isEnd = part.type === 'text-end';
    const text = await (isEnd ? streamed.end(id) : streamed.write(id, String(delta)));
    const shown = text === '' ? [] : [{ ...others, type: 'text-delta', id, delta: text }];
    return isEnd ? [...shown, part] : shown;
  }

  /**
   * A part of a response, as the caller may see it: results of tools that the provider ran are screened, and so are calls of tools
   * that `guardTools` doesn't.
   */
  async function showPart(
    part: unknown,
    params: CallParams,
    write: (refusal: Enforcement) => readonly unknown[],
  ): Promise<readonly unknown[]> {
    if (!isObject(part)) return [part];
    const screening = screeningOf(params);
    if (part.type === 'text') return [await screening.answer(part)];
    if (part.type === 'tool-call' && !part.providerExecuted && !isWrapped(guard, part.toolName)) {
      const refused = await screening.refuseCall(part);
      return refused === undefined ? [part] : write(refused);
    }
    if (part.type !== 'tool-result') return [part];
    const decision = await screening.screen('tool_result', part.result, { tool: String(part.toolName) });
    if (!passes(decision)) return [{ ...part, result: decision.enforcement.note, isError: true }];
    return [withMember(part, 'result', decision.value)];
  }

  return {
    specificationVersion: (options.specificationVersion ?? 'v4') as V,
    async transformParams({ params }) {
      const { toolChoice } = params;
      const screening = new CallScreening(guard, { signal: params.abortSignal });
      const prompt = await screenPrompt(screening, params.prompt);
      const tools = params.tools && (await screening.tools(params.tools));
      const isGone =
        toolChoice?.type === 'tool' &&
        tools !== params.tools &&
        !tools?.some((tool) => (tool as { name?: unknown }).name === toolChoice.toolName);
      const screened = {
        ...params,
        prompt,
        ...(tools !== undefined && { tools }),
        ...(isGone && { toolChoice: undefined }),
      };
      screenings.set(screened, screening);
      return screened;
    },
    async wrapGenerate({ doGenerate, params }) {
      const refusal = screenings.get(params)?.refusal;
      if (refusal !== undefined) {
        const { finishReason, usage, providerMetadata } = refusedFinish(refusal);
        return { content: toText(refusal), finishReason, usage, providerMetadata, warnings: [] } as never;
      }
      const result = (await doGenerate()) as { readonly content?: readonly unknown[] };
      const content = result.content && (await showEach(result.content, (part) => showPart(part, params, toText)));
      return withMember(result, 'content', content) as never;
    },
    async wrapStream({ doStream, params }) {
      const refusal = screenings.get(params)?.refusal;
      if (refusal !== undefined) {
        const parts = [{ type: 'stream-start', warnings: [] }, ...textParts(refusal), refusedFinish(refusal)];
        return { stream: toStream(parts) } as never;
      }
      const result = await doStream();
      const screening = new TransformStream<unknown, unknown>({
        async transform(part, controller) {
          for (const shown of await showStreamed(part, params)) controller.enqueue(shown);
        },
        async flush(controller) {
          const { streamed } = screeningOf(params);
          for (const id of streamed.open())
            controller.enqueue({ type: 'text-delta', id, delta: await streamed.end(id) });
        },
      });
      return { ...result, stream: (result.stream as ReadableStream<unknown>).pipeThrough(screening) };
    },
  };
}

function toText({ note }: Enforcement): readonly unknown[] {
  return [{ type: 'text', text: note }];
}

function textParts({ evidenceId: id, note }: Enforcement): readonly unknown[] {
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: note },
    { type: 'text-end', id },
  ];
}

function refusedFinish({ evidenceId, runId, rule }: Enforcement) {
  return {
    type: 'finish',
    finishReason: { unified: 'content-filter', raw: 'portcullis' },
    usage: NO_TOKENS,
    providerMetadata: { portcullis: { evidenceId, runId, rule } },
  };
}

function toStream(parts: readonly unknown[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
