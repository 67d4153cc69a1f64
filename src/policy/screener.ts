import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Channel } from '../engine/channel.js';
import { PortcullisError } from '../engine/errors.js';
import type { ExplainedFinding, ExplainedVerdict, ExplainedWindow, Explanation } from '../engine/explain.js';
import { type Input, inputText } from '../engine/input.js';
import type { Span } from '../engine/span.js';
import type { Verdict } from '../engine/verdict.js';

/**
 * Screener of a guard: an `Engine`, a `ScreeningClient` of `portcullis/client`, or anything with their `analyze`. A guard gives it a
 * structured value as `JsonText`, which is written once.
 */
export interface Analyzer {
  analyze(
    input: Input,
    options?: {
      readonly channel?: Channel | undefined;
      readonly task?: string | undefined;
      readonly explain?: boolean | undefined;
      readonly timeoutMs?: number | undefined;
    },
  ): Promise<Verdict>;
}

/** A finding as an event tells it: without the text. */
export type ReportedFinding = Pick<ExplainedFinding, 'rule' | 'severity' | 'score'>;

/** A verdict with the spans behind it. */
export interface Screened {
  readonly verdict: Verdict;
  /** In the text screened; where a redaction cuts. */
  readonly spans: readonly Span[];
  /** Empty unless the request asked to explain. */
  readonly findings: readonly ReportedFinding[];
  /** Windows that the model scored, worst first; empty unless the request asked to explain. */
  readonly windows: readonly ExplainedWindow[];
  readonly cached: boolean;
}

/** The deadline passed before there was a verdict. */
export class ScreeningTimeout extends PortcullisError {
  override readonly name = 'ScreeningTimeout';
  readonly code = 'TIMEOUT';
}

/** Bounds of the cache of verdicts. */
export interface CacheOptions {
  /** Texts; default 2,000. */
  readonly max?: number | undefined;
  /** Milliseconds that a verdict holds; default: as long as the guard lives. */
  readonly ttlMs?: number | undefined;
}

export interface ScreeningRequest {
  readonly channel: Channel;
  readonly task?: string | undefined;
  readonly explain?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The result of `digestInput`, if known. */
  readonly digest?: string | undefined;
}

/** Screens each text once for a channel and task: one that is cached or in flight isn't screened again. */
export interface Screener {
  screen(input: Input, request: ScreeningRequest): Promise<Screened>;
}

/** The share of the deadline that the analyzer gets: an engine's rules can still answer when its model is late. */
const ANALYZER_SHARE = 0.8;

/** @throws RangeError for a deadline that is no positive number */
export function createScreener(
  analyzer: () => Analyzer | Promise<Analyzer>,
  timeoutMs: number,
  cache: CacheOptions | false,
): Screener {
  if (!(timeoutMs > 0 && timeoutMs < 2 ** 31))
    throw new RangeError('timeoutMs must be a positive number of milliseconds');
  const known =
    cache === false
      ? undefined
      : new LRUCache<string, Omit<Screened, 'cached'>>({
          max: cache.max ?? 2_000,
          ...(cache.ttlMs === undefined ? {} : { ttl: cache.ttlMs }),
        });
  const underWay = new Map<string, Promise<Omit<Screened, 'cached'>>>();

  async function ask(input: Input, { channel, task, explain }: ScreeningRequest): Promise<Omit<Screened, 'cached'>> {
    const asked = await analyzer();
    const limit = Math.ceil(timeoutMs * ANALYZER_SHARE);
    const verdict = await asked.analyze(input, { channel, task, explain, timeoutMs: limit });
    return toScreened(verdict);
  }

  return {
    async screen(input, request) {
      const { explain, signal, digest = digestInput(input, request.channel, request.task) } = request;
      signal?.throwIfAborted();
      const key = `${explain ? 'e' : 'v'}${digest}`;
      const remembered = known?.get(key);
      if (remembered !== undefined) return { ...remembered, cached: true };
      const running = underWay.get(key);
      if (running !== undefined) return { ...(await inTime(running, timeoutMs, signal)), cached: true };
      const answer = ask(input, request).then((found) => {
        known?.set(key, found);
        return found;
      });
      if (known !== undefined) {
        underWay.set(key, answer);
        const forget = (): boolean => underWay.delete(key);
        answer.then(forget, forget);
      }
      return { ...(await inTime(answer, timeoutMs, signal)), cached: false };
    },
  };
}

/** SHA-256 of the channel, the task and the text, 64 hex digits. */
export function digestInput(input: Input, channel: Channel, task = ''): string {
  const kind = typeof input === 'string' ? 's' : 'j';
  // With its length in front, no task runs on into the text.
  return hash('sha256', `${channel}\0${kind}\0${task.length}\0${task}${inputText(input)}`);
}

/** Splits what an analyzer said into the verdict alone and what its explanation adds. */
export function toScreened(said: Verdict): Omit<Screened, 'cached'> {
  const { explanation, ...verdict } = said as Verdict & Partial<ExplainedVerdict>;
  return {
    verdict,
    spans: verdict.verdict === 'block' ? listSpans(verdict, explanation) : [],
    findings: (explanation?.findings ?? []).map(({ rule, severity, score }) => ({ rule, severity, score })),
    windows: explanation?.model.windows ?? [],
  };
}

/** The spans of the side that blocked: the rules' findings, or where the model saw its evidence. */
function listSpans(verdict: Verdict, explanation: Explanation | undefined): readonly Span[] {
  if (explanation === undefined) return [];
  const { findings, model } = explanation;
  const byModel = model.hotspots.length > 0 ? model.hotspots : model.windows.slice(0, 1).map(({ span }) => span);
  return [...findings.map(({ span }) => span), ...(verdict.decided_by === 'ml' ? byModel : [])];
}

/**
 * Waits for an answer. A timer of its own keeps the deadline: that of an `AbortSignal.timeout` within `AbortSignal.any` is lost with
 * the next garbage collection (nodejs/node 57736).
 *
 * @throws ScreeningTimeout; the signal's reason
 */
export async function inTime<T>(answer: Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  // Where nobody waits for it any more, its failure must not end the process.
  answer.catch(() => undefined);
  signal?.throwIfAborted();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  try {
    return await Promise.race([
      answer,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new ScreeningTimeout(`no answer within ${timeoutMs} ms`)), timeoutMs);
        onAbort = () => reject(signal?.reason);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}
