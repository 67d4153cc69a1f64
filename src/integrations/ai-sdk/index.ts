/** Guards the AI SDK (`ai` 6 and 7). Imports nothing of it: its types are met by shape. */
import { ReadableStream, TransformStream } from 'node:stream/web';
import { checkOptions } from '../../engine/options.js';
import { type Enforcement, type Guard, passes } from '../../policy/index.js';
import { isSigned } from '../content-blocks.js';
import { isObject, showEach, withMember } from '../json-value.js';
import { CallScreening } from '../screened-call.js';
import { isWrapped } from './guard-tools.js';
import { screenPrompt } from './prompt.js';

export { guardTools } from './guard-tools.js';

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
 * failed tools, tool definitions) and the results of tools that the provider runs. Links and images that could leak data are
 * removed from the model's texts. A refused call isn't made: its answer is the note, with finish reason `content-filter`.
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
  checkOptions('guardModel', options, { specificationVersion: true });
  /** The screening of the parameters that `transformParams` returned. */
  const screenings = new WeakMap<object, CallScreening>();
  const screeningOf = (params: CallParams): CallScreening =>
    screenings.get(params) ?? new CallScreening(guard, { signal: params.abortSignal });

  return {
    specificationVersion: (options.specificationVersion ?? 'v4') as V,
    async transformParams({ params }) {
      const screening = new CallScreening(guard, { signal: params.abortSignal });
      const shown = await showParams(screening, params);
      screenings.set(shown, screening);
      return shown;
    },
    async wrapGenerate({ doGenerate, params }) {
      const screening = screeningOf(params);
      if (screening.refusal !== undefined) return refusedAnswer(screening.refusal) as never;
      const result = (await doGenerate()) as { readonly content?: readonly unknown[] };
      const show = (part: unknown): Promise<readonly unknown[]> => showPart(guard, screening, part, noteText);
      const content = result.content && (await screening.joined(await showEach(result.content, show)));
      return withMember(result, 'content', content) as never;
    },
    async wrapStream({ doStream, params }) {
      const screening = screeningOf(params);
      if (screening.refusal !== undefined) return refusedStream(screening.refusal) as never;
      const result = await doStream();
      const stream = (result.stream as ReadableStream<unknown>).pipeThrough(showStream(guard, screening));
      return { ...result, stream };
    },
  };
}

async function showParams<P extends CallParams>(screening: CallScreening, params: P): Promise<P> {
  const { toolChoice } = params;
  const prompt = await screenPrompt(screening, params.prompt);
  const tools = params.tools && (await screening.tools(params.tools));
  const isGone =
    toolChoice?.type === 'tool' &&
    tools !== params.tools &&
    !tools?.some((tool) => (tool as { name?: unknown }).name === toolChoice.toolName);
  return { ...params, prompt, ...(tools && { tools }), ...(isGone && { toolChoice: undefined }) };
}

/**
 * A part of a response, as the caller may see it: results of tools that the provider ran are screened, and so are calls of tools
 * that `guardTools` doesn't; `write` says why one may not be made.
 */
async function showPart(
  guard: Guard,
  screening: CallScreening,
  part: unknown,
  write: (refusal: Enforcement) => readonly unknown[],
): Promise<readonly unknown[]> {
  if (!isObject(part)) return [part];
  if (part.type === 'text' || part.type === 'reasoning') return [await screening.answer(part)];
  if (part.type === 'tool-call' && !part.providerExecuted && !isWrapped(guard, part.toolName)) {
    const refused = await screening.refuseCall(part);
    return refused === undefined ? [part] : write(refused);
  }
  if (part.type !== 'tool-result') return [part];
  const decision = await screening.screen('tool_result', part.result, { tool: String(part.toolName) });
  if (!passes(decision)) return [{ ...part, result: decision.enforcement.note, isError: true }];
  return [withMember(part, 'result', decision.value)];
}

/** Shows the parts of a stream, with what was held back of a text where that ends. */
function showStream(guard: Guard, screening: CallScreening): TransformStream<unknown, unknown> {
  const { streamed } = screening;
  async function show(part: unknown): Promise<readonly unknown[]> {
    const [, kind, step] = (isObject(part) && /^(text|reasoning)-(delta|end)$/.exec(String(part.type))) || [];
    if (!isObject(part) || kind === undefined) return showPart(guard, screening, part, noteParts);
    const { id, delta = '' } = part;
    const key = `${kind} ${id}`;
    let text = delta === '' ? '' : await streamed.write(key, String(delta), kind === 'text' ? 'joined' : 'thought');
    // A piece without a text may bring the signature of the thought.
    if (step === 'end' || (kind === 'reasoning' && isSigned(part))) text += await streamed.end(key, isSigned(part));
    if (delta !== '') return text === '' ? [] : [{ ...part, delta: text }];
    return text === '' ? [part] : [{ type: `${kind}-delta`, id, delta: text }, part];
  }
  return new TransformStream({
    async transform(part, controller) {
      for (const shown of await show(part)) controller.enqueue(shown);
    },
    async flush(controller) {
      for (const text of streamed.open()) {
        const [, kind, id] = /^(\w+) (.*)$/s.exec(String(text)) ?? [];
        controller.enqueue({ type: `${kind}-delta`, id, delta: await streamed.end(text) });
      }
    },
  });
}

function noteText({ note }: Enforcement): readonly unknown[] {
  return [{ type: 'text', text: note }];
}

function noteParts({ evidenceId: id, note }: Enforcement): readonly unknown[] {
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: note },
    { type: 'text-end', id },
  ];
}

function refusedAnswer(refusal: Enforcement): object {
  const { type: _, ...finish } = refusedFinish(refusal);
  return { content: noteText(refusal), ...finish, warnings: [] };
}

function refusedStream(refusal: Enforcement): object {
  const start = { type: 'stream-start', warnings: [] };
  return { stream: ReadableStream.from([start, ...noteParts(refusal), refusedFinish(refusal)]) };
}

function refusedFinish({ evidenceId, runId, rule }: Enforcement) {
  return {
    type: 'finish',
    finishReason: { unified: 'content-filter', raw: 'portcullis' },
    usage: NO_TOKENS,
    providerMetadata: { portcullis: { evidenceId, runId, rule } },
  };
}
