import { AsyncLocalStorage } from 'node:async_hooks';
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { newEvidenceId } from '../adapters/evidence-id.js';
import { cropTask, toJsonText } from '../engine/input.js';
import type { Input } from '../index.js';
import {
  CHANNELS,
  checkPolicy,
  DEFAULT_POLICY,
  type Decision,
  type Enforcement,
  type GuardEvent,
  type Point,
  type Policy,
  PortcullisBlocked,
} from './policy.js';
import { cutSpans } from './redact.js';
import {
  type Analyzer,
  type CacheOptions,
  createScreener,
  digestInput,
  type Screened,
  ScreeningTimeout,
  type ScreenRequest,
} from './screener.js';

/** A value without what was blocked in it, and what the analyzer was given of it. */
interface Redacted<T> {
  readonly value: T;
  readonly input: Input;
}

/** How a guard is set up. */
export interface GuardOptions {
  /** Screens in this process. Without `engine` and `client`: the library's default engine, opened by the first call. */
  readonly engine?: Analyzer | undefined;
  /** Screens at a service: `createClient` of `portcullis/client`. */
  readonly client?: Analyzer | undefined;
  /** What to do with a blocked text, by point. What is left out is refused, denied, replaced, replaced, hidden. */
  readonly on?: Partial<Policy> | undefined;
  /** What to do with a text that could not be screened, also not in time. Default `block`. */
  readonly onError?: 'block' | 'allow' | undefined;
  /** Milliseconds for one screening; keep it below the host's own deadline. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Fences tool results and documents that are strings, so that a model can tell them from instructions. Default false. */
  readonly quoteUntrusted?: boolean | undefined;
  /** Verdicts are remembered by the SHA-256 of channel, task and text; false screens every time. */
  readonly cache?: CacheOptions | false | undefined;
  /** Told of every screening and enforcement. What it throws rejects the call. */
  readonly report?: ((event: GuardEvent) => void) | undefined;
}

/** How one value is to be screened. */
export interface ScreenCall {
  /** The host's id of the run; default: that of `inRun`, else the guard's own. */
  readonly runId?: string | undefined;
  /** The name of the tool; only reported. */
  readonly tool?: string | undefined;
  /**
   * Task that the user gave the agent, as evidence for the model; its last 4,000 characters count. Goes with tool calls, tool
   * results and documents. It is screened as user text first, and left out if that isn't allowed.
   */
  readonly task?: string | undefined;
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A policy with an engine behind it: what every adapter asks. Reusable; calls may overlap. */
export interface Guard {
  readonly policy: Policy;
  /**
   * Screens a value and does what the policy says. A string is screened as it is, anything else as its canonical JSON text.
   *
   * @throws PortcullisBlocked for the action `throw`; the signal's reason
   */
  screen<T>(point: Point, value: T, call?: ScreenCall): Promise<Decision<T>>;
  /** Runs a function whose screenings share one run id, a fresh one unless given. */
  inRun<R>(work: () => R, runId?: string): R;
  /** The current run's id. */
  readonly runId: string;
}

/** Points whose texts a task helps to judge: tool definitions are there before any task. */
const TASK_POINTS: ReadonlySet<Point> = new Set(['tool_call', 'tool_result', 'document']);
/** Rounds of cutting and screening again. */
const REDACTIONS = 3;
/** Texts of our own that are remembered, so that a later layer lets them pass. */
const OWN_TEXTS = 2_000;

/**
 * Makes a guard: one policy for all layers of an agent.
 *
 * @throws TypeError where both `engine` and `client` are given, or for an option that does not exist; RangeError for a bad `timeoutMs`
 */
export function createGuard(options: GuardOptions = {}): Guard {
  const { engine, client, onError = 'block', timeoutMs = 10_000, cache = {}, report } = options;
  if (engine !== undefined && client !== undefined)
    throw new TypeError('give createGuard an engine or a client, not both');
  if (onError !== 'block' && onError !== 'allow') throw new TypeError("onError is 'block' or 'allow'");
  const chosen = Object.entries(options.on ?? {}).filter(([, action]) => action !== undefined);
  const policy: Policy = { ...DEFAULT_POLICY, ...Object.fromEntries(chosen) };
  checkPolicy(policy);
  const analyzer = engine ?? client;
  const screener = createScreener(analyzer === undefined ? openDefault : () => analyzer, timeoutMs, cache);
  const quote = options.quoteUntrusted ? createQuote() : undefined;
  const runs = new AsyncLocalStorage<string>();
  const ownRun = newRunId();
  /** Digests of what the guard itself passed on: notes, redacted and fenced texts; with what a later layer has to do. */
  const own = new LRUCache<string, { readonly enforcement: Enforcement | undefined }>({ max: OWN_TEXTS });

  function remember(input: Input, point: Point, enforcement?: Enforcement): void {
    own.set(digestInput(input, CHANNELS[point]), { enforcement });
  }

  /** The task as far as it may count. One that is blocked, or could not be screened, is reported and left out. */
  async function admitTask({ task, signal }: ScreenCall, runId: string): Promise<string | undefined> {
    const text = cropTask(task);
    if (text === undefined) return undefined;
    const started = performance.now();
    const found = await screener.screen(text, { channel: 'user', signal }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      return failureOf(error);
    });
    if (typeof found === 'object' && found.verdict.verdict === 'allow') return text;
    report?.({
      ...{ runId, point: 'user', tool: undefined, action: 'report' },
      ...factsOf(found),
      durationMs: performance.now() - started,
    });
    return undefined;
  }

  /** Cuts the spans out until the rest is allowed; undefined where it never is. */
  async function redacted<T>(value: T, first: Screened, request: ScreenRequest): Promise<Redacted<T> | undefined> {
    let rest = value;
    let { spans } = first;
    for (let round = 0; round < REDACTIONS; round += 1) {
      const cut = cutSpans(rest, spans);
      if (cut === undefined) return undefined;
      const input = inputOf(cut);
      const found = await screener.screen(input, request);
      if (found.verdict.verdict === 'allow') return { value: cut, input };
      rest = cut;
      spans = found.spans;
    }
    return undefined;
  }

  async function screen<T>(point: Point, value: T, call: ScreenCall = {}): Promise<Decision<T>> {
    const { signal, tool } = call;
    signal?.throwIfAborted();
    const runId = call.runId ?? runs.getStore() ?? ownRun;
    const started = performance.now();
    const action = policy[point];

    const tell = (event: Omit<GuardEvent, 'runId' | 'point' | 'tool' | 'durationMs'>): void =>
      report?.({ runId, point, tool, ...event, durationMs: performance.now() - started });

    function passed(text: T): Decision<T> {
      if (quote === undefined || typeof text !== 'string' || text === '') return { action: 'allow', value: text };
      if (point !== 'tool_result' && point !== 'document') return { action: 'allow', value: text };
      const fenced = quote(text, point);
      remember(fenced, point);
      return { action: 'allow', value: fenced as T };
    }

    async function enforce(found: Screened | Failure): Promise<Decision<T>> {
      const facts = factsOf(found);
      const { evidenceId, cause, rule } = facts;
      const reason = facts.reason ?? 'Blocked.';
      const rest = action === 'redact' && typeof found === 'object' ? await tryRedact(found) : undefined;
      const done = action !== 'redact' || rest !== undefined ? action : point === 'user' ? 'refuse' : 'replace';
      // Not the rule's reason: it describes the attack, so that the next layer that screens the note could block it.
      const said = cause === 'verdict' ? 'prompt injection.' : reason;
      const note = `[${NOTES[point]} by portcullis: ${said} rule=${rule} evidence=${evidenceId}]`;
      const enforcement: Enforcement = { runId, evidenceId, point, action: done, cause, rule, reason, note };
      tell({ ...facts, action: done, reason });
      if (done === 'report') return { action: done, value, enforcement };
      if (done === 'redact' && rest !== undefined) {
        const { value: text } = passed(rest.value) as { value: T };
        remember(text === rest.value ? rest.input : (text as Input), point);
        return { action: done, value: text, enforcement };
      }
      // A layer that sees the note later lets it pass, or ends the run where this layer couldn't.
      remember(note, 'tool_result', done === 'stop' || done === 'throw' ? enforcement : undefined);
      if (point === 'document') remember(note, point);
      if (done === 'throw') throw new PortcullisBlocked(enforcement);
      return { action: done as Exclude<typeof done, 'redact'>, enforcement };
    }

    async function tryRedact(found: Screened): Promise<Redacted<T> | undefined> {
      try {
        return await redacted(value, found, request);
      } catch (error) {
        if (signal?.aborted) throw error;
        // Not screened again: replaced whole.
        return undefined;
      }
    }

    // Numbers, booleans and nothing say nothing.
    if (value === '' || value === null || !['string', 'object', 'bigint'].includes(typeof value)) {
      return { action: 'allow', value };
    }
    const task = TASK_POINTS.has(point) ? await admitTask(call, runId) : undefined;
    const request: ScreenRequest = { channel: CHANNELS[point], task, explain: action === 'redact', signal };
    let found: Screened;
    try {
      const input = inputOf(value);
      const digest = digestInput(input, request.channel);
      const mine = own.get(digest);
      if (mine?.enforcement !== undefined) {
        // Once: the note may stand in the history of later runs.
        remember(input, point);
        if (mine.enforcement.action === 'throw') throw new PortcullisBlocked(mine.enforcement);
        return { action: 'stop', enforcement: mine.enforcement };
      }
      if (mine !== undefined) return { action: 'allow', value };
      found = await screener.screen(input, task === undefined ? { ...request, digest } : request);
    } catch (error) {
      if (error instanceof PortcullisBlocked || signal?.aborted) throw error;
      const failure = failureOf(error);
      if (onError === 'block') return enforce(failure);
      tell({ ...factsOf(failure), action: 'allow' });
      return passed(value);
    }
    if (found.verdict.verdict === 'block') return enforce(found);
    tell({ ...factsOf(found), action: 'allow' });
    return passed(value);
  }

  return {
    policy,
    screen,
    inRun: (work, runId = newRunId()) => runs.run(runId, work),
    get runId() {
      return runs.getStore() ?? ownRun;
    },
  };
}

/** What the analyzer is given of a value: JSON is written once, for the digest and the analyzer. */
function inputOf(value: unknown): Input {
  return typeof value === 'string' ? value : toJsonText(value as Exclude<Input, string>);
}

/** Why there is no verdict. */
type Failure = 'error' | 'timeout';

const REASONS = {
  error: 'The text could not be screened.',
  timeout: 'The text could not be screened in time.',
} as const;

/** What an event says of a screening. */
function factsOf(
  found: Screened | Failure,
): Pick<GuardEvent, 'evidenceId' | 'verdict' | 'cause' | 'rule' | 'reason' | 'score' | 'cached'> {
  if (typeof found === 'string') {
    const reason = REASONS[found];
    return {
      evidenceId: newEvidenceId(),
      verdict: 'error',
      cause: found,
      rule: 'none',
      reason,
      score: null,
      cached: false,
    };
  }
  const { evidence_id: evidenceId, verdict, rule, reason, score } = found.verdict;
  return { evidenceId, verdict, cause: 'verdict', rule, reason, score, cached: found.cached };
}

const NOTES: Readonly<Record<Point, string>> = {
  user: 'refused',
  tool_call: 'denied',
  tool_result: 'removed',
  document: 'removed',
  tool_definition: 'hidden',
};

async function openDefault(): Promise<Analyzer> {
  const { defaultEngine } = await import('../default-engine.js');
  return defaultEngine();
}

function newRunId(): string {
  return `run_${randomBytes(12).toString('hex')}`;
}

/** A client says `TIMEOUT` where its own deadline passed first. */
function failureOf(error: unknown): Failure {
  const isLate =
    error instanceof ScreeningTimeout || (error instanceof Error && 'code' in error && error.code === 'TIMEOUT');
  return isLate ? 'timeout' : 'error';
}

/** Puts a text between marks that it can't forge. */
export type Quote = (text: string, source: string) => string;

/**
 * Makes a function that fences texts. The nonce in the marks is an HMAC of the text with a random key of this function:
 * nobody who writes the text can know it, and the same text is always fenced alike, so a provider's prompt cache still works.
 */
function createQuote(): Quote {
  const key = randomBytes(32);
  return (text, source) => {
    const mark = `untrusted-${createHmac('sha256', key).update(source).update('\0').update(text).digest('hex').slice(0, 24)}`;
    const escaped = text.replace(/<(?=\s*\/?\s*untrusted-)/giu, '&lt;');
    return `<${mark} source="${source}">\n${escaped}\n</${mark}>`;
  };
}
