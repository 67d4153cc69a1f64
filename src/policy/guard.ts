import { AsyncLocalStorage } from 'node:async_hooks';
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { newEvidenceId } from '../adapters/evidence-id.js';
import { cropTask } from '../engine/input.js';
import type { Input } from '../index.js';
import { type Content, readContent } from './content.js';
import {
  type Action,
  CHANNELS,
  checkOptions,
  checkPolicy,
  DEFAULT_POLICY,
  type Decision,
  type Enforcement,
  type GuardEvent,
  type Point,
  type Policy,
  PortcullisBlocked,
} from './policy.js';
import {
  type Analyzer,
  type CacheOptions,
  createScreener,
  digestInput,
  type Screened,
  ScreeningTimeout,
  type ScreenRequest,
} from './screener.js';

/** What the analyzer said of a content. */
interface Judged {
  /** The input that is blocked. */
  readonly input?: Input;
  /** The verdict on it, or the one of the highest score; undefined where all inputs are the guard's own texts. */
  readonly found?: Screened | undefined;
  /** What an earlier layer left to be done. */
  readonly left?: Enforcement;
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
  /** What to do with binary data and streams, whose text can't be read. Default `report`: they pass, and the event names them. */
  readonly unreadable?: 'report' | 'block' | undefined;
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
  /**
   * Content of an earlier turn, which stays in the history: a note takes its place where the policy would end the run, or
   * every later turn would be refused too. See `newestTurn`.
   */
  readonly isPast?: boolean | undefined;
  /** Asks the engine for its findings, for `report`. */
  readonly explain?: boolean | undefined;
  /** Told of the screenings of this call, after the guard's own `report`. */
  readonly report?: ((event: GuardEvent) => void) | undefined;
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A policy with an engine behind it: what every adapter asks. Reusable; calls may overlap. */
export interface Guard {
  readonly policy: Policy;
  /**
   * Screens a value and does what the policy says. Give it a content whole, e.g. all blocks of a message: an attack may be
   * split over them. The texts of its blocks are screened as the one text that a model reads, those in bytes, base64 and data
   * URLs too, and whatever else it holds as canonical JSON. An adapter says where content stands, and puts the note in the
   * place of one that does not pass.
   *
   * @throws PortcullisBlocked for the action `throw`; the signal's reason
   */
  screen<T>(point: Point, value: T, call?: ScreenCall): Promise<Decision<T>>;
  /** Runs a function whose screenings share one run id, a fresh one unless given. */
  inRun<R>(work: () => R, runId?: string): R;
  /** The current run's id. */
  readonly runId: string;
}

const GUARD_OPTIONS = [
  'engine',
  'client',
  'on',
  'onError',
  'unreadable',
  'timeoutMs',
  'quoteUntrusted',
  'cache',
  'report',
] as const satisfies readonly (keyof GuardOptions)[];
/** Points whose texts a task helps to judge: tool definitions are there before any task. */
const TASK_POINTS: ReadonlySet<Point> = new Set(['tool_call', 'tool_result', 'document']);
/** Rounds of cutting and screening again, for each input of a content. */
const REDACTIONS = 3;
/** Texts of our own that are remembered, so that a later layer lets them pass. */
const OWN_TEXTS = 2_000;

/**
 * Makes a guard: one policy for all layers of an agent.
 *
 * @throws TypeError where both `engine` and `client` are given, or for an option that does not exist; RangeError for a bad `timeoutMs`
 */
export function createGuard(options: GuardOptions = {}): Guard {
  const { engine, client, onError = 'block', unreadable = 'report', timeoutMs = 10_000, cache = {} } = options;
  checkOptions('createGuard', options, GUARD_OPTIONS);
  if (engine !== undefined && client !== undefined)
    throw new TypeError('give createGuard an engine or a client, not both');
  if (onError !== 'block' && onError !== 'allow') throw new TypeError("onError is 'block' or 'allow'");
  if (unreadable !== 'report' && unreadable !== 'block') throw new TypeError("unreadable is 'report' or 'block'");
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

  function remember(inputs: readonly Input[], point: Point, enforcement?: Enforcement): void {
    for (const input of inputs) own.set(digestInput(input, CHANNELS[point]), { enforcement });
  }

  function report(event: GuardEvent, call: ScreenCall): void {
    options.report?.(event);
    call.report?.(event);
  }

  /** The task as far as it may count. One that is blocked, or could not be screened, is reported and left out. */
  async function admitTask(call: ScreenCall, runId: string): Promise<string | undefined> {
    const { task, explain, signal } = call;
    const text = cropTask(task);
    if (text === undefined) return undefined;
    const started = performance.now();
    const found = await screener.screen(text, { channel: 'user', explain, signal }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      return failureOf(error);
    });
    if (typeof found === 'object' && found.verdict.verdict === 'allow') return text;
    const durationMs = performance.now() - started;
    const about = { runId, point: 'user', tool: undefined, action: 'report', unreadable: [], durationMs } as const;
    report({ ...about, ...factsOf(found) }, call);
    return undefined;
  }

  /** Screens the inputs of a content, up to one that is blocked. */
  async function judge({ inputs }: Content, request: ScreenRequest): Promise<Judged> {
    let highest: Screened | undefined;
    for (const input of inputs) {
      const digest = digestInput(input, request.channel);
      const mine = own.get(digest);
      if (mine?.enforcement !== undefined) {
        // Once: the note may stand in the history of later runs.
        own.set(digest, { enforcement: undefined });
        return { left: mine.enforcement };
      }
      if (mine !== undefined) continue;
      const found = await screener.screen(input, request.task === undefined ? { ...request, digest } : request);
      if (found.verdict.verdict !== 'allow') return { input, found };
      if (highest === undefined || found.verdict.score > highest.verdict.score) highest = found;
    }
    return { found: highest };
  }

  /** Cuts out what is blocked until the rest is allowed; undefined where it never is. */
  async function redacted(
    point: Point,
    first: Content,
    judged: Judged,
    request: ScreenRequest,
  ): Promise<{ readonly value: unknown; readonly content: Content } | undefined> {
    let content = first;
    let { input, found } = judged;
    for (let round = 0; round < REDACTIONS * first.inputs.length; round += 1) {
      const value = input && found && content.cut(input, found.spans);
      if (value === undefined) return undefined;
      content = readContent(value, isStructure(point));
      ({ input, found } = await judge(content, request));
      if (input === undefined) return { value, content };
    }
    return undefined;
  }

  /** Fences the texts of a content that comes from outside. */
  function fenced<T>(point: Point, value: T, content: Content | undefined): T {
    if (quote === undefined || content === undefined || (point !== 'tool_result' && point !== 'document')) return value;
    const shown = content.mapBlocks((text) => {
      if (text === '' || own.has(digestInput(text, CHANNELS[point]))) return text;
      const marked = quote(text, point);
      remember([marked], point);
      return marked;
    }) as T;
    if (shown !== value) remember(readContent(shown, false).inputs, point);
    return shown;
  }

  async function screen<T>(point: Point, value: T, call: ScreenCall = {}): Promise<Decision<T>> {
    const { signal, tool, isPast = false } = call;
    signal?.throwIfAborted();
    // Numbers, booleans and nothing say nothing.
    if (value === '' || value === null || !['string', 'object', 'bigint'].includes(typeof value)) {
      return { action: 'allow', value };
    }
    const runId = call.runId ?? runs.getStore() ?? ownRun;
    const started = performance.now();
    let content: Content | undefined;

    const tell = (event: Omit<GuardEvent, 'runId' | 'point' | 'tool' | 'unreadable' | 'durationMs'>): void =>
      report(
        {
          ...{ runId, point, tool },
          ...event,
          ...{ unreadable: content?.unreadable ?? [], durationMs: performance.now() - started },
        },
        call,
      );

    async function enforce(found: Screened | Failure, judged?: Judged): Promise<Decision<T>> {
      const facts = factsOf(found);
      const { evidenceId, cause, rule } = facts;
      const reason = facts.reason ?? 'Blocked.';
      const rest = policy[point] === 'redact' && content && judged ? await tryRedact(content, judged) : undefined;
      const done = rest === undefined ? actionFor(policy[point], point, isPast) : 'redact';
      // Not the rule's reason: it describes the attack, so that the next layer that screens the note could block it.
      const said = cause === 'verdict' ? 'prompt injection.' : reason;
      const note = `[${NOTES[point]} by portcullis: ${said} rule=${rule} evidence=${evidenceId}]`;
      const enforcement: Enforcement = { runId, evidenceId, point, action: done, cause, rule, reason, note };
      tell({ ...facts, action: done, reason });
      if (done === 'report') return { action: done, value, enforcement };
      if (rest !== undefined) {
        remember(rest.content.inputs, point);
        return { action: 'redact', value: fenced(point, rest.value as T, rest.content), enforcement };
      }
      // A layer that sees the note later lets it pass, or ends the run where this layer couldn't.
      remember([note], 'tool_result', done === 'stop' || done === 'throw' ? enforcement : undefined);
      if (point === 'document' || isPast) remember([note], point);
      if (done === 'throw') throw new PortcullisBlocked(enforcement);
      return { action: done as Exclude<typeof done, 'redact'>, enforcement };
    }

    async function tryRedact(given: Content, judged: Judged): ReturnType<typeof redacted> {
      try {
        return await redacted(point, given, judged, request);
      } catch (error) {
        if (signal?.aborted) throw error;
        // Not screened again: replaced whole.
        return undefined;
      }
    }

    const task = TASK_POINTS.has(point) ? await admitTask(call, runId) : undefined;
    const explain = policy[point] === 'redact' || call.explain;
    const request: ScreenRequest = { channel: CHANNELS[point], task, explain, signal };
    let judged: Judged;
    try {
      content = readContent(value, isStructure(point));
      judged = await judge(content, request);
    } catch (error) {
      if (signal?.aborted) throw error;
      const failure = failureOf(error);
      if (onError === 'block') return enforce(failure);
      tell({ ...factsOf(failure), action: 'allow' });
      return { action: 'allow', value: fenced(point, value, content) };
    }
    const { left, found } = judged;
    if (left !== undefined && !isPast) {
      if (left.action === 'throw') throw new PortcullisBlocked(left);
      return { action: 'stop', enforcement: left };
    }
    if (judged.input !== undefined && found !== undefined) return enforce(found, judged);
    const isUnread = content.unreadable.length > 0;
    if (isUnread && unreadable === 'block') return enforce('unreadable');
    if (found !== undefined || isUnread)
      tell({
        ...(found ? factsOf(found) : { ...factsOf('unreadable'), verdict: 'allow', cause: 'verdict', reason: null }),
        action: 'allow',
      });
    return { action: 'allow', value: fenced(point, value, content) };
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

/** Whether a value is read as one structure: what a tool is called with, and how it is described. */
function isStructure(point: Point): boolean {
  return point === 'tool_call' || point === 'tool_definition';
}

/** What is done with a value that can't be redacted. */
function actionFor(action: Action, point: Point, isPast: boolean): Action {
  const done = action !== 'redact' ? action : point === 'user' ? 'refuse' : 'replace';
  return isPast && (done === 'refuse' || done === 'stop' || done === 'throw') ? 'replace' : done;
}

/** Why there is no verdict. */
type Failure = 'error' | 'timeout' | 'unreadable';

const REASONS = {
  error: 'The text could not be screened.',
  timeout: 'The text could not be screened in time.',
  unreadable: 'The content has a part that could not be read.',
} as const;

/** Everything that an event says of a screening itself. */
export function factsOf(
  found: Screened | Failure,
): Omit<GuardEvent, 'runId' | 'point' | 'tool' | 'action' | 'unreadable' | 'durationMs'> {
  if (typeof found === 'string')
    return {
      evidenceId: newEvidenceId(),
      verdict: 'error',
      cause: found,
      rule: 'none',
      reason: REASONS[found],
      score: null,
      ...{ decidedBy: null, rulesVersion: null, mlVersion: null, findings: [] },
      cached: false,
    };
  const { verdict, findings, cached } = found;
  // An analyzer of the user's own may leave members out.
  return {
    evidenceId: verdict.evidence_id ?? newEvidenceId(),
    verdict: verdict.verdict === 'allow' ? 'allow' : 'block',
    cause: 'verdict',
    rule: verdict.rule ?? 'none',
    reason: verdict.reason ?? null,
    score: verdict.score ?? null,
    decidedBy: verdict.decided_by ?? null,
    rulesVersion: verdict.rules_version ?? null,
    mlVersion: verdict.ml_version ?? null,
    findings,
    cached,
  };
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
