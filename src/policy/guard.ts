import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { newEvidenceId } from '../adapters/evidence-id.js';
import { TASK_CHANNELS } from '../engine/channel.js';
import { cropTask, inputText } from '../engine/input.js';
import { checkOptions } from '../engine/options.js';
import type { Input } from '../index.js';
import { type Content, readContent } from './content.js';
import {
  type Action,
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
import { askPerson, type OnAsk, withoutTexts } from './run/ask.js';
import { createEffects, type Effect, type KnownEffect, type ToolPolicy } from './run/effects.js';
import { type FlowPolicy, flowReason, isSuspicious, LONG_TEXT, ruleFlows } from './run/flow-policy.js';
import type { Judge, JudgedCall, Judgement } from './run/judge.js';
import type { OutputPieces, ShownPiece } from './run/output-pieces.js';
import type { Read } from './run/remember.js';
import type { OutputRuling } from './run/rule-output.js';
import type { RunLog } from './run/run-log.js';
import { createRuns, type Joint, newRunId, plainText, proseOf, type RunKey, type RunMemory } from './run/run-memory.js';
import {
  type Analyzer,
  type CacheOptions,
  createScreener,
  digestInput,
  type Screened,
  ScreeningTimeout,
  type ScreenRequest,
} from './screener.js';

/** Verdicts of the analyzer on a content. */
interface Judged {
  /** The input that is blocked. */
  readonly input?: Input;
  /** The verdict on it, or the one of the highest score; undefined where all inputs are the guard's own texts. */
  readonly found?: Screened | undefined;
  /** Enforcement that an earlier layer left to this one. */
  readonly left?: Enforcement;
  /** The inputs that were screened. */
  readonly read: readonly Read[];
}

/** How a guard is set up. */
export interface GuardOptions {
  /** Screens in this process. Without `engine` and `client`: the library's default engine, opened by the first call. */
  readonly engine?: Analyzer | undefined;
  /** Screens at a service: `createClient` of `portcullis/client`. */
  readonly client?: Analyzer | undefined;
  /** Actions for a blocked text, by point. Defaults: `DEFAULT_POLICY`. */
  readonly on?: (Partial<Omit<Policy, 'flow'>> & { readonly flow?: Partial<FlowPolicy> | undefined }) | undefined;
  /** Effects of tools, by name. Default: as the host says, the tool's annotations, or the verb of its name. */
  readonly tools?: Readonly<Record<string, ToolPolicy>> | undefined;
  /** Asks a person where `on.flow` says `ask`. Without it the host is told to ask; a host that can't denies the call. */
  readonly onAsk?: OnAsk | undefined;
  /** Milliseconds in which a person must answer. Default 60,000. */
  readonly askTimeoutMs?: number | undefined;
  /**
   * Asks a model whether a call that `on.flow` would deny or ask about serves the task. Where it says so the call is made and
   * reported; else, and where it fails, the policy's action is taken.
   */
  readonly judge?: Judge | undefined;
  /** Milliseconds in which the judge must answer. Default 10,000. */
  readonly judgeTimeoutMs?: number | undefined;
  /** Keeps runs outside of the process. What it throws rejects the screening. */
  readonly runLog?: RunLog | undefined;
  /** Action for a text that could not be screened, also not in time. Default `block`. */
  readonly onError?: 'block' | 'allow' | undefined;
  /** Action for binary data and streams, whose text can't be read. Default `report`: they pass, and the event names them. */
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
  /** The host's id of the run, or the object that stands for it; default: that of `inRun`, else the guard's own. */
  readonly runId?: RunKey | undefined;
  /** The name of the tool. */
  readonly tool?: string | undefined;
  /** Effect of the tool, where the host knows it. */
  readonly effect?: Effect | undefined;
  /**
   * Task that the user gave the agent, as evidence for the model; its last 4,000 characters count. Goes with tool results
   * and documents. It is screened as user text first, and left out if that isn't allowed.
   */
  readonly task?: string | undefined;
  /**
   * Content of an earlier turn, which stays in the history: a note takes its place where the policy would end the run, or
   * every later turn would be refused too. See `newestTurn`.
   */
  readonly isPast?: boolean | undefined;
  /** The model doesn't read the value as it is, e.g. a header: events name the run, but it remembers nothing. Default false. */
  readonly isApart?: boolean | undefined;
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
   * @throws PortcullisBlocked for the action `throw`; TypeError for an option that does not exist; the signal's reason
   */
  screen<T>(point: Point, value: T, call?: ScreenCall): Promise<Decision<T>>;
  /** Screens a text of the model that comes in pieces, as the point `output`. */
  outputStream(call?: ScreenCall): OutputStream;
  /** Starts a run, or goes on with the one of this id: it remembers whose words are whose, and follows values into calls. */
  run(options?: RunOptions): Run;
  /** Runs a function whose screenings are one run, a fresh one unless an id is given. */
  inRun<R>(work: () => R, runId?: string): R;
  /** Returns what a tool is taken to do, and why. */
  effectOf(tool: string, declared?: Effect): KnownEffect;
  /** Whether the policy leaves questions to the host: `ask` for calls, or for flows without an `onAsk`. */
  readonly leavesToHost: boolean;
  /** The current run's id. */
  readonly runId: string;
}

/**
 * A text of the model that comes in pieces. What is shown together is what would be shown of the whole text: a piece is held back
 * while a link in it could still go on, or lead elsewhere. Where the policy says `deny`, the note takes the place of the rest.
 */
export interface OutputStream {
  /** Takes the next piece, and returns what may be shown by now. One at a time. */
  write(piece: string): Promise<string>;
  /** Ends the text, and returns the rest. */
  end(): Promise<string>;
}

/** How a run is started. */
export interface RunOptions {
  /** The host's id of the run, or the object that stands for it, such as its context; a fresh one unless given. */
  readonly id?: RunKey | undefined;
  /** Request of the user; default: the newest text that is screened as `user`. */
  readonly task?: string | undefined;
  /** Goes on with the current run, if there is one; else the run ends with this object, e.g. with a request or a connection. */
  readonly brief?: boolean | undefined;
  /** Secrets of the system prompt that no output may repeat, each of 8 letters and digits or more. */
  readonly canaries?: readonly string[] | undefined;
}

/** One run of an agent, from the user's words to the arguments of its calls. Forgotten an hour after its last use. */
export interface Run {
  readonly id: string;
  /** Screens a value as a part of the run. */
  screen<T>(point: Point, value: T, call?: Omit<ScreenCall, 'runId'>): Promise<Decision<T>>;
  /** Screens a text of the model that comes in pieces. */
  outputStream(call?: Omit<ScreenCall, 'runId'>): OutputStream;
  /** Adds words of the operator, such as the system prompt: a value that they give may be used. */
  trust(content: unknown): void;
  /** Adds a call that the model made earlier: a value that it brought in itself may be used again. */
  recall(call: unknown): void;
  /**
   * Adds a secret that no output may repeat.
   *
   * @throws RangeError for one of fewer than 8 letters and digits
   */
  canary(secret: string): void;
}

const GUARD_OPTIONS = [
  'engine',
  'client',
  'on',
  'tools',
  'onAsk',
  'askTimeoutMs',
  'judge',
  'judgeTimeoutMs',
  'runLog',
  'onError',
  'unreadable',
  'timeoutMs',
  'quoteUntrusted',
  'cache',
  'report',
] as const satisfies readonly (keyof GuardOptions)[];
const SCREEN_OPTIONS = [
  'runId',
  'tool',
  'effect',
  'task',
  'isPast',
  'isApart',
  'explain',
  'report',
  'signal',
] as const satisfies readonly (keyof ScreenCall)[];
const RUN_OPTIONS = ['id', 'task', 'brief', 'canaries'] as const satisfies readonly (keyof RunOptions)[];
/** Rounds of cutting and screening again, for each input of a content. */
const REDACTIONS = 3;
/** Letters and digits of a canary: fewer stand in any text. */
const MIN_CANARY = 8;
/** Texts of our own that are remembered, so that a later layer lets them pass. */
const OWN_TEXTS = 2_000;

/**
 * Makes a guard: one policy for all layers of an agent.
 *
 * @throws TypeError where both `engine` and `client` are given, or for an option that does not exist; RangeError for a bad `timeoutMs`
 *
 * @example
 * ```ts
 * const guard = createGuard({ on: { tool_result: 'redact' } });
 * const decision = await guard.screen('tool_result', page, { tool: 'read_page' });
 * ```
 */
export function createGuard(options: GuardOptions = {}): Guard {
  const { engine, client, onError = 'block', unreadable = 'report', timeoutMs = 10_000, cache = {}, onAsk } = options;
  const { askTimeoutMs = 60_000, judge: flowJudge, judgeTimeoutMs = 10_000 } = options;
  checkOptions('createGuard', options, GUARD_OPTIONS);
  if (engine !== undefined && client !== undefined)
    throw new TypeError('give createGuard an engine or a client, not both');
  if (onError !== 'block' && onError !== 'allow') throw new TypeError("onError is 'block' or 'allow'");
  if (unreadable !== 'report' && unreadable !== 'block') throw new TypeError("unreadable is 'report' or 'block'");
  const chosen = Object.entries(options.on ?? {}).filter(([, action]) => action !== undefined);
  const flow: FlowPolicy = { ...DEFAULT_POLICY.flow, ...options.on?.flow };
  const policy: Policy = { ...DEFAULT_POLICY, ...Object.fromEntries(chosen), flow };
  checkPolicy(policy);
  const analyzer = engine ?? client;
  const screener = createScreener(analyzer === undefined ? openDefault : () => analyzer, timeoutMs, cache);
  const quote = options.quoteUntrusted ? createQuote() : undefined;
  if (!(askTimeoutMs > 0 && askTimeoutMs < 2 ** 31)) throw new RangeError('askTimeoutMs must be a positive number');
  if (!(judgeTimeoutMs > 0 && judgeTimeoutMs < 2 ** 31))
    throw new RangeError('judgeTimeoutMs must be a positive number');
  checkJudge(flowJudge);
  const effects = createEffects(options.tools);
  const runs = createRuns(options.runLog, flowJudge !== undefined);
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
  async function admitTask(call: ScreenCall, runId: string, run?: RunMemory): Promise<string | undefined> {
    const { task = run?.task ?? run?.said, explain, signal } = call;
    const text = cropTask(task);
    if (text === undefined) return undefined;
    const started = performance.now();
    const found = await screener.screen(text, { channel: 'user', explain, signal }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      return failureOf(error);
    });
    if (typeof found === 'object' && found.verdict.verdict === 'allow') {
      run?.pending.push({ role: 'trusted', text });
      return text;
    }
    const durationMs = performance.now() - started;
    const about = { runId, point: 'user', tool: undefined, action: 'report', unreadable: [], durationMs } as const;
    report({ ...about, ...factsOf(found) }, call);
    return undefined;
  }

  /** Screens the inputs of a content, up to one that is blocked. */
  async function judge({ inputs }: Pick<Content, 'inputs'>, request: ScreenRequest): Promise<Judged> {
    let highest: Screened | undefined;
    const read: Read[] = [];
    for (const input of inputs) {
      const digest = digestInput(input, request.channel);
      const mine = own.get(digest);
      if (mine?.enforcement !== undefined) {
        // Once: the note may stand in the history of later runs.
        own.set(digest, { enforcement: undefined });
        return { left: mine.enforcement, read };
      }
      if (mine !== undefined) continue;
      const found = await screener.screen(input, request.task === undefined ? { ...request, digest } : request);
      read.push({ input, found });
      if (found.verdict.verdict !== 'allow') return { input, found, read };
      if (highest === undefined || found.verdict.score > highest.verdict.score) highest = found;
    }
    return { found: highest, read };
  }

  /** Cuts out what is blocked until the rest is allowed; undefined where it never is. */
  async function redacted(
    point: Point,
    first: Content,
    judged: Judged,
    request: ScreenRequest,
  ): Promise<{ readonly value: unknown; readonly content: Content; readonly read: readonly Read[] } | undefined> {
    let content = first;
    let { input, found, read } = judged;
    for (let round = 0; round < REDACTIONS * first.inputs.length; round += 1) {
      const value = input && found && content.cut(input, found.spans);
      if (value === undefined) return undefined;
      content = readContent(value, isStructure(point));
      ({ input, found, read } = await judge(content, request));
      if (input === undefined) return { value, content, read };
    }
    return undefined;
  }

  /** Fences the texts of a content that comes from outside. */
  function fenced<T>(point: Point, value: T, content: Content | undefined): T {
    if (quote === undefined || content === undefined || !isData(point)) return value;
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
    checkOptions('screen', call, SCREEN_OPTIONS);
    const { signal, tool, isPast = false, isApart = false } = call;
    if (point === 'output') return screenOutput(value, call);
    signal?.throwIfAborted();
    // Numbers, booleans and nothing say nothing.
    if (value === '' || value === null || !['string', 'object', 'bigint'].includes(typeof value)) {
      return { action: 'allow', value };
    }
    const current = runs.find(call.runId);
    const run = isApart ? undefined : current;
    const runId = current?.id ?? ownRun;
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
      const done = rest === undefined ? actionFor(policy[point] as Action, point, isPast) : 'redact';
      // Not the rule's reason: it describes the attack, so that the next layer that screens the note could block it.
      const said = cause === 'verdict' ? 'prompt injection.' : reason;
      const note = noteOf(point, said, facts);
      const enforcement: Enforcement = { runId, evidenceId, point, action: done, cause, rule, reason, note };
      tell({ ...facts, action: done, reason });
      if (done === 'report') {
        const said = typeof found === 'string' ? undefined : found;
        const read = content?.inputs.map((input) => ({ input, found: said })) ?? [];
        return (await followed(read, said)) ?? { action: done, value, enforcement };
      }
      if (rest !== undefined) {
        remember(rest.content.inputs, point);
        await followed(rest.read, rest.read[0]?.found);
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

    /** Adds to the run what is passed on; what becomes of a call that carries a value from untrusted data. */
    async function followed(read: readonly Read[], found: Screened | undefined): Promise<Decision<T> | undefined> {
      if (point === 'tool_definition') effects.readDefinition(tool, value);
      if (run === undefined || point === 'tool_definition') return undefined;
      if (point === 'tool_call') return followCall(run, found);
      const { rememberData, rememberUser } = await import('./run/remember.js');
      if (point === 'user') await rememberUser(run, read);
      else await rememberData(run, await withWindows(read, request), tool, flow);
      return undefined;
    }

    async function followCall(run: RunMemory, found: Screened | undefined): Promise<Decision<T> | undefined> {
      const { flowsInto, rememberCall } = await import('./run/remember.js');
      const { name, arguments: args = value } = value as { readonly name?: unknown; readonly arguments?: unknown };
      const called = tool ?? (typeof name === 'string' ? name : undefined);
      const known = effects.of(called, call.effect);
      const ruling = ruleFlows(await flowsInto(run, args, flow), known, effects.policyOf(called), flow);
      let action = ruling?.action ?? 'report';
      let judgement: Judgement | undefined;
      if (ruling !== undefined && action !== 'report' && flowJudge !== undefined) {
        judgement = await askJudge(flowJudge, run, { tool: called, effect: known.effect, flows: ruling.flows });
        if ('serves' in judgement && judgement.serves) action = 'report';
      }
      if (ruling !== undefined && action === 'ask' && onAsk !== undefined) {
        const asked = { runId, tool: called, effect: known.effect, flows: ruling.flows };
        action = (await askPerson(onAsk, asked, askTimeoutMs, signal)) ? 'report' : 'deny';
      }
      await rememberCall(run, content?.inputs ?? []);
      if (ruling === undefined) return undefined;
      const { rule } = ruling;
      const facts = { ...factsOf(found ?? 'error'), cause: 'flow', rule, reason: flowReason(ruling) } as const;
      const flows = withoutTexts(ruling.flows);
      tell({ ...facts, action, flows, judgement });
      const { evidenceId, cause, reason } = facts;
      const note = noteOf(point, reason, facts);
      const enforcement: Enforcement = {
        runId,
        evidenceId,
        point,
        action,
        cause,
        rule,
        reason,
        note,
        flows,
        judgement,
      };
      if (action === 'report') return { action, value, enforcement };
      remember([note], 'tool_result');
      return { action, enforcement };
    }

    async function askJudge(
      asked: Judge,
      { task, said, texts }: RunMemory,
      flagged: Pick<JudgedCall, 'tool' | 'effect' | 'flows'>,
    ): Promise<Judgement> {
      const { judgeCall } = await import('./run/judge.js');
      const text = content?.inputs.map(inputText).join('\n') ?? '';
      const about = { ...flagged, task: cropTask(call.task ?? task ?? said), call: text, texts };
      return judgeCall(asked, about, judgeTimeoutMs, signal);
    }

    let failure: Failure | undefined;
    let joint: Joint | undefined;
    try {
      content = readContent(value, isStructure(point));
      const [first] = content.inputs;
      const digest = run !== undefined && first !== undefined && isData(point) && digestInput(first, CHANNELS[point]);
      // Before anything is waited for: texts that are screened at once are read in the order of the calls.
      if (digest && !own.has(digest)) joint = run?.jointOf(digest, () => proseOf(first));
    } catch (error) {
      failure = failureOf(error);
    }
    const task = TASK_CHANNELS.has(CHANNELS[point]) ? await admitTask(call, runId, run) : undefined;
    const explain = policy[point] === 'redact' || call.explain;
    const request: ScreenRequest = { channel: CHANNELS[point], task, explain, signal };
    let judged: Judged | undefined;
    let halved: Screened | undefined;
    try {
      if (content !== undefined) judged = await judge(content, request);
      const isAllowed = judged !== undefined && judged.input === undefined && judged.left === undefined;
      if (isAllowed && joint !== undefined) halved = await judgeJoint(joint, request);
    } catch (error) {
      if (signal?.aborted) throw error;
      failure = failureOf(error);
    }
    if (failure !== undefined || content === undefined || judged === undefined) {
      if (onError === 'block') return enforce(failure ?? 'error');
      tell({ ...factsOf(failure ?? 'error'), action: 'allow' });
      const unscreened = content?.inputs.map((input) => ({ input, found: undefined })) ?? [];
      return (await followed(unscreened, undefined)) ?? { action: 'allow', value: fenced(point, value, content) };
    }
    const { left, found, read } = judged;
    if (left !== undefined && !isPast) {
      if (left.action === 'throw') throw new PortcullisBlocked(left);
      return { action: 'stop', enforcement: left };
    }
    if (halved !== undefined) return enforce(halved);
    if (judged.input !== undefined && found !== undefined) return enforce(found, judged);
    const isUnread = content.unreadable.length > 0;
    if (isUnread && unreadable === 'block') return enforce('unreadable');
    const flown = await followed(read, found);
    if (flown !== undefined) return flown;
    if (found !== undefined || isUnread)
      tell({
        ...(found ? factsOf(found) : { ...factsOf('unreadable'), verdict: 'allow', cause: 'verdict', reason: null }),
        action: 'allow',
      });
    return { action: 'allow', value: fenced(point, value, content) };
  }

  /** Looks for ways out in what the model wrote. Outside of a run there is nothing to compare it with. */
  async function screenOutput<T>(value: T, call: ScreenCall): Promise<Decision<T>> {
    const started = performance.now();
    call.signal?.throwIfAborted();
    const run = runs.find(call.runId);
    if (policy.output === 'off' || run === undefined) return { action: 'allow', value };
    const { ruleOutput } = await import('./run/rule-output.js');
    const ruling = await ruleOutput(run, value, policy.output, flow);
    if (ruling === undefined) return { action: 'allow', value };
    const enforcement = enforceOutput(run, ruling, call, started);
    const { action } = ruling;
    if (action === 'deny') return { action, enforcement };
    const noted = (rule: string): string => outputNote(rule, enforcement);
    return { action, value: action === 'redact' ? (ruling.redact(noted) as T) : value, enforcement };
  }

  /** Reports ways out, and says why they don't pass. All of one text have its evidence id. */
  function enforceOutput(
    run: RunMemory,
    { rule, reason, action, leaks }: OutputRuling,
    call: ScreenCall,
    started: number,
    evidenceId: string = newEvidenceId(),
  ): Enforcement {
    const facts = { ...factsOf('error'), evidenceId, verdict: 'allow', cause: 'output', rule, reason, leaks } as const;
    const about = { runId: run.id, point: 'output', action } as const;
    report({ ...facts, ...about, tool: call.tool, unreadable: [], durationMs: performance.now() - started }, call);
    const note = outputNote(rule, { evidenceId });
    return { ...about, evidenceId, cause: facts.cause, rule, reason, note, leaks };
  }

  function outputStream(call: ScreenCall = {}): OutputStream {
    checkOptions('outputStream', call, SCREEN_OPTIONS);
    const run = runs.find(call.runId);
    const { output } = policy;
    if (output === 'off' || run === undefined) return { write: async (piece) => piece, end: async () => '' };
    const evidenceId = newEvidenceId();
    let pieces: OutputPieces | undefined;
    let isDenied = false;

    async function show(next: (pieces: OutputPieces) => ShownPiece): Promise<string> {
      call.signal?.throwIfAborted();
      if (isDenied) return '';
      const started = performance.now();
      pieces ??= await (await import('./run/output-pieces.js')).openOutput(run as RunMemory, flow, output as 'redact');
      const { ruling, redact } = next(pieces);
      if (ruling !== undefined) enforceOutput(run as RunMemory, ruling, call, started, evidenceId);
      isDenied = ruling?.action === 'deny';
      return isDenied && ruling !== undefined
        ? outputNote(ruling.rule, { evidenceId })
        : redact((rule) => outputNote(rule, { evidenceId }));
    }

    return { write: (piece) => show((open) => open.next(piece)), end: () => show((open) => open.rest()) };
  }

  /** Judges a joint, once where it may pass. */
  async function judgeJoint(joint: Joint, request: ScreenRequest): Promise<Screened | undefined> {
    if (joint.halves === undefined) return undefined;
    const found = await judgeHalves(joint.halves, request);
    if (found === undefined) joint.halves = undefined;
    return found;
  }

  async function judgeHalves(halves: readonly [string, string], request: ScreenRequest): Promise<Screened | undefined> {
    const [before, after] = halves;
    // A word may be halved, too: then the second half goes on in small letters.
    const isWordSplit = /\p{L}$/u.test(before) && /^[\p{Ll}\p{Lo}]/u.test(after);
    const inputs = [`${before}\n${after}`, ...(isWordSplit ? [before + after] : [])];
    const { input, found } = await judge({ inputs }, request);
    if (input === undefined) return undefined;
    for (const half of halves) if ((await screener.screen(half, request)).verdict.verdict !== 'allow') return undefined;
    return found;
  }

  /** Verdicts on long suspicious texts with the windows that the model scored, so that the rest of them stays usable. */
  async function withWindows(read: readonly Read[], request: ScreenRequest): Promise<readonly Read[]> {
    return Promise.all(
      read.map(async ({ input, found }) => {
        const isLong =
          found?.verdict.decided_by === 'ml' && found.windows.length === 0 && inputText(input).length > LONG_TEXT;
        if (!isLong || !isSuspicious(found, flow)) return { input, found };
        const explained = screener.screen(input, { ...request, explain: true }).catch(() => found);
        return { input, found: await explained };
      }),
    );
  }

  return {
    policy,
    screen,
    outputStream,
    run(given = {}) {
      checkOptions('run', given, RUN_OPTIONS);
      const { id, task, brief = false, canaries = [] } = given;
      const run = brief ? (runs.find(id) ?? runs.openBrief(ownRun)) : runs.open(id);
      if (task !== undefined) run.task = task;
      const recall = (role: 'trusted' | 'call', value: unknown = ''): void => {
        for (const input of readContent(value, role === 'call').inputs)
          run.pending.push({ role, text: plainText(input) });
      };
      const canary = (secret: string): void => {
        if (secret.replace(/[^\p{L}\p{N}]+/gu, '').length < MIN_CANARY)
          throw new RangeError(`a canary has ${MIN_CANARY} letters and digits or more`);
        run.canaries.add(secret);
      };
      for (const secret of canaries) canary(secret);
      return {
        id: run.id,
        // Of this object, which may be an instrumented guard.
        screen: (point, value, call) => runs.within(run, () => this.screen(point, value, { ...call, runId: run.id })),
        outputStream: (call) => runs.within(run, () => this.outputStream({ ...call, runId: run.id })),
        trust: (value) => recall('trusted', value),
        recall: (call) => recall('call', call),
        canary,
      };
    },
    inRun: (work, runId) => runs.within(runs.open(runId), work),
    leavesToHost:
      policy.tool_call === 'ask' || (onAsk === undefined && [flow.suspicious, flow.foreign].includes('ask')),
    effectOf: (tool, declared) => effects.of(tool, declared),
    get runId() {
      return runs.find(undefined)?.id ?? ownRun;
    },
  };
}

function isData(point: Point): boolean {
  return point === 'tool_result' || point === 'document';
}

/** @throws TypeError for a judge that is neither a function nor an endpoint */
function checkJudge(judge: unknown): void {
  if (judge === undefined || typeof judge === 'function') return;
  const { url, model } = (judge ?? {}) as { readonly url?: unknown; readonly model?: unknown };
  const isEndpoint = typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url);
  if (!isEndpoint || typeof model !== 'string')
    throw new TypeError('judge is a function, or an endpoint: url and model');
}

/** Whether a value is read as one structure: what a tool is called with, and how it is described. */
function isStructure(point: Point): boolean {
  return point === 'tool_call' || point === 'tool_definition';
}

/** Action for a value that can't be redacted. */
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

function outputNote(rule: string, { evidenceId }: Pick<Enforcement, 'evidenceId'>): string {
  return noteOf('output', 'a way out.', { rule, evidenceId });
}

/** A note that stands in a text's place. */
function noteOf(point: Point, said: string, { rule, evidenceId }: Pick<GuardEvent, 'rule' | 'evidenceId'>): string {
  return `[${NOTES[point]} by portcullis: ${said} rule=${rule} evidence=${evidenceId}]`;
}

const NOTES: Readonly<Record<Point, string>> = {
  user: 'refused',
  tool_call: 'denied',
  tool_result: 'removed',
  document: 'removed',
  tool_definition: 'hidden',
  output: 'removed',
};

async function openDefault(): Promise<Analyzer> {
  const { defaultEngine } = await import('../default-engine.js');
  return defaultEngine();
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
