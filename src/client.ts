/** A client of the screening service. Uses `fetch` alone: it runs in Node, Deno, Bun, workers and browsers. */

import type { Channel } from './engine/channel.js';
import { PortcullisError } from './engine/errors.js';
import type { ExplainedVerdict } from './engine/explain.js';
import { cropTask, type Input, toJsonText } from './engine/input.js';
import { checkOptions, type Known } from './engine/options.js';
import type { Span } from './engine/span.js';
import type { Verdict } from './engine/verdict.js';

export type { Channel } from './engine/channel.js';
export type { ExplainedVerdict, Explanation } from './engine/explain.js';
export type { Input } from './engine/input.js';
export type { DecidedBy, MinimalVerdict, Mode, Verdict } from './engine/verdict.js';

/** Reasons for which the service may refuse a call. */
export type ScreeningErrorCode =
  /** The account's trial is over. */
  | 'TRIAL_ENDED'
  /** The plan's calls of this month are used up. */
  | 'MONTHLY_LIMIT_REACHED'
  /** The key is missing or not valid; another try ends the same. */
  | 'KEY_REFUSED'
  /** The service doesn't take this request; another try ends the same. */
  | 'REQUEST_REFUSED'
  /** The service failed, twice, or is overloaded. */
  | 'SERVICE_FAILED'
  /** Nothing came back. */
  | 'UNREACHABLE'
  /** The deadline passed. */
  | 'TIMEOUT'
  /** The response is not a verdict. */
  | 'ANSWER_INVALID';

/** A call without a verdict. What to do then is the caller's decision: a tool call that wasn't screened isn't safe. */
export class ScreeningError extends PortcullisError {
  override readonly name = 'ScreeningError';
  readonly code: ScreeningErrorCode;
  /** HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  /** Seconds until the monthly quota resets, with `MONTHLY_LIMIT_REACHED`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ScreeningErrorCode,
    message: string,
    options: { readonly status?: number; readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** A value in a call's arguments that stood first in what a tool or a document said, and that the user never gave. */
export interface FlowFinding {
  /** JSON path in the arguments. */
  readonly argument: string;
  /** Such as `email` or `words`. */
  readonly kind: string;
  readonly level: 'suspicious' | 'foreign';
  readonly source: {
    readonly tool: string | null;
    readonly evidence_id: string | null;
    /** In the text of the source, UTF-16 code units. */
    readonly span: Span;
    /** Of the passage, 0..1; null for one that isn't suspicious. */
    readonly probability: number | null;
  };
}

/** Flow of values into a call's arguments, as the service found it. Never quotes one. */
export interface FlowAnswer {
  /** Action of the default policy of runs. */
  readonly action: 'allow' | 'report' | 'ask' | 'deny';
  readonly rule: 'none' | 'flow.suspicious' | 'flow.foreign';
  readonly reason: string | null;
  readonly effect: 'read' | 'write' | 'send' | 'execute';
  readonly findings: readonly FlowFinding[];
}

/**
 * A verdict on a text of a run; `flow` is there for a tool's call. `halved`: it is blocked only together with what the run read before,
 * or its strings with each other, and spans count in the input of its evidence.
 */
export type RunVerdict = Verdict & {
  readonly run_id: string;
  readonly halved?: true | undefined;
  readonly flow?: FlowAnswer | undefined;
};

/** Options of a client. */
export interface ClientOptions {
  /** Address of the service, e.g. `https://screening.example`; a path before `/analyze` is kept. */
  readonly baseUrl: string;
  /** `svc_live_…`; keep it on the server. */
  readonly apiKey: string;
  /** Milliseconds for a call with its retry. Default 20,000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds before the one retry of a 500, plus up to as much again by chance. Default 250. */
  readonly backoffMs?: number | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of one call. */
export interface ClientCallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Origin of the text; default `tool_call` for `{ name, arguments }`, else `unknown`. */
  readonly channel?: Channel | undefined;
  /** Task that the user gave the agent. Only the last 4,000 characters of a longer task are sent. */
  readonly task?: string | undefined;
  /** The run that the text is a part of, an id of your own: the verdict on a tool's call says what came from data. */
  readonly runId?: string | undefined;
  /** With `runId`: the tool that gave the result, or that is called. */
  readonly tool?: string | undefined;
  /** With `runId`: what the called tool does; default: by the verb of its name. */
  readonly effect?: FlowAnswer['effect'] | undefined;
  /** Adds `explanation` to the verdict. */
  readonly explain?: boolean | undefined;
}

/** Asks a screening service. */
export interface ScreeningClient {
  /**
   * Screens the exact text that will go to the tool; another JSON value is screened as its canonical JSON text. A 500 is tried once more, after a moment; each try counts.
   *
   * @throws ScreeningError; InputError for a value that has no JSON text; TypeError for an option that does not exist
   */
  analyze(input: Input, options: ClientCallOptions & { readonly explain: true }): Promise<ExplainedVerdict>;
  analyze(input: Input, options: ClientCallOptions & { readonly runId: string }): Promise<RunVerdict>;
  analyze(input: Input, options?: ClientCallOptions): Promise<Verdict>;
}

const CLIENT_OPTIONS: Known<ClientOptions> = {
  baseUrl: true,
  apiKey: true,
  timeoutMs: true,
  backoffMs: true,
  fetch: true,
};
const CALL_OPTIONS: Known<ClientCallOptions> = {
  channel: true,
  task: true,
  explain: true,
  runId: true,
  tool: true,
  effect: true,
  timeoutMs: true,
  signal: true,
};

/**
 * Makes a client. It opens no connection until the first call.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * const client = createClient({ baseUrl: 'https://screening.example', apiKey });
 * const { verdict } = await client.analyze(page, { channel: 'tool_result', task: 'Summarise this page.' });
 * ```
 */
export function createClient(options: ClientOptions): ScreeningClient {
  checkOptions('createClient', options, CLIENT_OPTIONS);
  const { baseUrl, apiKey, timeoutMs = 20_000, backoffMs = 250, fetch: ask = globalThis.fetch } = options;
  const url = `${baseUrl.replace(/\/+$/, '')}/analyze?form=extended`;

  async function attempt(url: string, body: string, signal: AbortSignal): Promise<Response> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    return ask(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  }

  async function withRetry(url: string, body: string, signal: AbortSignal): Promise<ExplainedVerdict> {
    const first = await attempt(url, body, signal);
    if (first.status !== 500) return verdictIn(first);
    await first.body?.cancel();
    await pause(backoffMs * (1 + Math.random()), signal);
    return verdictIn(await attempt(url, body, signal));
  }

  return {
    async analyze(input: Input, call: ClientCallOptions = {}): Promise<ExplainedVerdict & RunVerdict> {
      checkOptions('analyze', call, CALL_OPTIONS);
      const task = cropTask(call.task);
      const { runId: run_id, tool, effect, channel, explain } = call;
      const query = `${channel === undefined ? '' : `&channel=${channel}`}${explain ? '&explain=true' : ''}`;
      const members = { task, ...(run_id === undefined ? {} : { run_id, tool, effect }) };
      const asked = JSON.stringify(members).slice(1, -1);
      const body = `{"input":${typeof input === 'string' ? JSON.stringify(input) : toJsonText(input).text}${asked && `,${asked}`}}`;
      const deadline = AbortSignal.timeout(call.timeoutMs ?? timeoutMs);
      const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
      try {
        return (await withRetry(url + query, body, signal)) as ExplainedVerdict & RunVerdict;
      } catch (cause) {
        if (cause instanceof ScreeningError) throw cause;
        if (call.signal?.aborted) throw call.signal.reason;
        if (deadline.aborted) throw new ScreeningError('TIMEOUT', 'the service did not respond in time', { cause });
        throw new ScreeningError('UNREACHABLE', 'the service could not be reached', { cause });
      }
    },
  };
}

async function verdictIn(response: Response): Promise<ExplainedVerdict> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  if (status === 200) {
    if (isVerdict(body)) return body;
    throw new ScreeningError('ANSWER_INVALID', 'the response is not a verdict', { status });
  }
  const { error, code } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const message = typeof error === 'string' ? error : `the service answered ${status}`;
  if (status === 402) throw new ScreeningError('TRIAL_ENDED', message, { status });
  if (status === 429 && code === 'MONTHLY_LIMIT_REACHED') {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    throw new ScreeningError('MONTHLY_LIMIT_REACHED', message, {
      status,
      ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
    });
  }
  if (status === 401) throw new ScreeningError('KEY_REFUSED', message, { status });
  throw new ScreeningError(status >= 500 ? 'SERVICE_FAILED' : 'REQUEST_REFUSED', message, { status });
}

/** Checks what a caller decides by (`explanation` is there where it was asked for); fields that later versions add are let by. */
function isVerdict(body: unknown): body is ExplainedVerdict {
  if (typeof body !== 'object' || body === null) return false;
  const { verdict, score, threshold, evidence_id } = body as Readonly<Record<string, unknown>>;
  if (typeof score !== 'number' || typeof threshold !== 'number' || typeof evidence_id !== 'string') return false;
  return verdict === (score >= threshold ? 'block' : 'allow');
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
