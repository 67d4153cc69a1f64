/** Screens one value: reads it, has it judged, does what the policy says, and follows it through its run. */
import { TASK_CHANNELS } from '../engine/channel.js';
import { cropTask, inputText, taskOf } from '../engine/input.js';
import { type Content, readContent } from './content.js';
import { enforcementOf, type Failure, factsOf, failureOf, noteOf } from './facts.js';
import type { Setup } from './guard-options.js';
import { type Judged, judgeInputs, judgeJoints, redactContent } from './judge-content.js';
import {
  type Action,
  CHANNEL_OF_POINT,
  type Decision,
  type Enforcement,
  type GuardEvent,
  type Point,
  PortcullisBlocked,
  type ScreenCall,
} from './policy.js';
import { flowReason, isSuspicious, LONG_TEXT, withoutTexts } from './run/flow-policy.js';
import { type Joints, readEnds } from './run/pieces/joints.js';
import { type Read, rememberData, rememberUser } from './run/remember.js';
import type { RunMemory } from './run/run-memory.js';
import { fullName } from './run/tool-name.js';
import { digestInput, type Screened, type ScreeningRequest } from './screener.js';

/** A point whose texts the engine judges. */
type JudgedPoint = Exclude<Point, 'output'>;

interface Screening<T = unknown> {
  readonly setup: Setup;
  readonly point: JudgedPoint;
  readonly value: T;
  readonly call: ScreenCall;
  /** The run that events name; undefined outside of any. */
  readonly current: RunMemory | undefined;
  /** The run that remembers the value: the same, unless the value stands apart. */
  readonly run: RunMemory | undefined;
  /** Undefined where the value can't be read. */
  readonly content: Content | undefined;
  /** Joints of the value with what the run read before, and of its strings with each other. */
  readonly joints: Joints | undefined;
  readonly started: number;
  /** Options of the screener for its texts. */
  readonly request: ScreeningRequest;
}

export async function screenValue<T>(
  setup: Setup,
  point: JudgedPoint,
  value: T,
  call: ScreenCall,
  run: RunMemory | undefined,
): Promise<Decision<T>> {
  call.signal?.throwIfAborted();
  // Numbers, booleans and null hold no text to screen.
  if (value === '' || value === null || !['string', 'object', 'bigint'].includes(typeof value))
    return { action: 'allow', value };
  const reading = readValue(setup, point, value, call, run);
  const { mistake, ...begun } = reading instanceof Promise ? await reading : reading;
  const channel = CHANNEL_OF_POINT[point];
  const task = TASK_CHANNELS.has(channel) ? await admitTask(begun) : undefined;
  const explain = setup.policy[point] === 'redact' || call.explain;
  const screening = { ...begun, request: { channel, task, explain, signal: call.signal } };
  const outcome = mistake ?? (await judgeValue(screening));
  if (typeof outcome === 'string') return enforceFailure(screening, outcome);
  const { input, found, left, halved, read } = outcome;
  if (left !== undefined && !call.isPast) return finish(left);
  if (halved !== undefined) return enforce(screening, halved);
  if (input !== undefined && found !== undefined) return enforce(screening, found, outcome);
  const isUnread = (screening.content?.unreadable.length ?? 0) > 0;
  if (isUnread && setup.unreadable === 'block') return enforce(screening, 'unreadable');
  const flown = await follow(screening, read, found);
  if (flown !== undefined) return flown;
  if (found !== undefined) tell(screening, { ...factsOf(found), action: 'allow' });
  else if (isUnread)
    tell(screening, { ...factsOf('unreadable'), verdict: 'allow', cause: 'verdict', reason: null, action: 'allow' });
  return { action: 'allow', value: fenced(screening, value) };
}

/** A screening that has read its value, or has not: `mistake`. */
type Begun<T = unknown> = Omit<Screening<T>, 'request'> & { readonly mistake?: Failure };

/** Begins a screening. Waits for nothing before it has read: texts that are screened at once are read in the order of the calls. */
function readValue<T>(
  setup: Setup,
  point: JudgedPoint,
  value: T,
  call: ScreenCall,
  current: RunMemory | undefined,
): Begun<T> | Promise<Begun<T>> {
  const run = call.isApart ? undefined : current;
  const begun = { setup, point, value, call, current, run, started: performance.now() };
  const fail = (error: unknown): Begun<T> => {
    return { ...begun, content: undefined, joints: undefined, mistake: failureOf(error) };
  };
  try {
    const content = readContent(value, isStructure(point));
    const begin = (joints?: Joints): Begun<T> => ({ ...begun, content, joints });
    const joints = run !== undefined && isData(point) ? jointsOf(begun, run, content) : undefined;
    return joints instanceof Promise ? joints.then(begin, fail) : begin(joints);
  } catch (error) {
    return fail(error);
  }
}

/** The joints of data with what a run read before; none for the guard's own texts, and where nothing can be read. */
function jointsOf(
  { setup, point, value }: Pick<Screening, 'setup' | 'point' | 'value'>,
  run: RunMemory,
  { inputs }: Content,
): Joints | Promise<Joints> | undefined {
  const [first, ...others] = inputs.map((input) => digestInput(input, CHANNEL_OF_POINT[point]));
  if (first === undefined || setup.own.has(first)) return undefined;
  return run.jointsOf([first, ...others].join(), () => readEnds(value, inputs[0]));
}

/**
 * The task as far as it may count: one that was given, else what the user said, which was allowed. A given one that is blocked, or
 * could not be screened, is reported and left out.
 */
async function admitTask({ setup, call, run, current, joints }: Begun): Promise<string | undefined> {
  const { task = run?.task, explain, signal } = call;
  const text = cropTask(task);
  if (text === undefined) return taskOf(joints?.said ?? []);
  const started = performance.now();
  const found = await setup.screener.screen(text, { channel: 'user', explain, signal }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    return failureOf(error);
  });
  if (typeof found === 'object' && found.verdict.verdict === 'allow') {
    run?.pending.push({ role: 'trusted', text });
    return text;
  }
  const durationMs = performance.now() - started;
  const about = { point: 'user', tool: undefined, action: 'report', unreadable: [], durationMs } as const;
  setup.tell({ runId: current?.id ?? setup.ownRun, ...about, ...factsOf(found) }, call, current);
  return undefined;
}

async function judgeValue(
  screening: Screening,
): Promise<(Judged & { readonly halved?: Screened | undefined }) | Failure> {
  const { setup, content, joints, call, request } = screening;
  try {
    const judged = await judgeInputs(setup, content?.inputs ?? [], request);
    const isAllowed = judged.input === undefined && judged.left === undefined;
    if (!isAllowed || !joints?.pieces.length) return judged;
    return { ...judged, halved: await judgeJoints(setup, joints, request, setup.timeoutMs) };
  } catch (error) {
    if (call.signal?.aborted) throw error;
    return failureOf(error);
  }
}

/** Does what the policy says of a value that is blocked, or that has no verdict. `judged`: where it may be redacted. */
async function enforce<T>(screening: Screening<T>, found: Screened | Failure, judged?: Judged): Promise<Decision<T>> {
  const { setup, point, value, call, content } = screening;
  const facts = factsOf(found);
  const rest = judged && (await redacted(screening, judged));
  const action = rest === undefined ? actionFor(setup.policy[point], point, call.isPast) : 'redact';
  const reason = facts.reason ?? 'Blocked.';
  // Not the rule's reason: it describes the attack, so that the next layer that screens the note could block it.
  const note = noteOf(point, facts.cause === 'verdict' ? 'prompt injection.' : reason, facts);
  const enforcement = enforcementOf(tell(screening, { ...facts, action, reason }), note);
  if (action === 'report') {
    const said = typeof found === 'string' ? undefined : found;
    const read = content?.inputs.map((input) => ({ input, found: said })) ?? [];
    return (await follow(screening, read, said)) ?? { action, value, enforcement };
  }
  if (rest !== undefined) {
    setup.own.add(rest.content.inputs, point);
    await follow(screening, rest.read, rest.read[0]?.found);
    return { action: 'redact', value: fenced({ ...screening, content: rest.content }, rest.value as T), enforcement };
  }
  // A layer that sees the note later lets it pass, or ends the run where this layer couldn't.
  setup.own.add([note], 'tool_result', action === 'stop' || action === 'throw' ? enforcement : undefined);
  if (point === 'document' || call.isPast) setup.own.add([note], point);
  return finish(enforcement);
}

/** A decision without a value. @throws PortcullisBlocked for the action `throw` */
function finish(enforcement: Enforcement): Decision<never> {
  if (enforcement.action === 'throw') throw new PortcullisBlocked(enforcement);
  return { action: enforcement.action as 'refuse' | 'deny' | 'ask' | 'replace' | 'stop' | 'hide', enforcement };
}

async function enforceFailure<T>(screening: Screening<T>, failure: Failure): Promise<Decision<T>> {
  const { setup, value, content } = screening;
  if (setup.onError === 'block') return enforce(screening, failure);
  tell(screening, { ...factsOf(failure), action: 'allow' });
  const unscreened = content?.inputs.map((input) => ({ input, found: undefined })) ?? [];
  const flown = await follow(screening, unscreened, undefined);
  return flown ?? { action: 'allow', value: fenced(screening, value) };
}

/** The value without what is blocked, where the policy redacts; undefined where nothing of it may stay. */
async function redacted(screening: Screening, judged: Judged): ReturnType<typeof redactContent> {
  const { setup, point, content, call, request } = screening;
  if (setup.policy[point] !== 'redact' || content === undefined) return undefined;
  try {
    return await redactContent(setup, content, judged, request, isStructure(point));
  } catch (error) {
    if (call.signal?.aborted) throw error;
    // Not screened again: replaced whole.
    return undefined;
  }
}

/** Action for a value that can't be redacted. */
function actionFor(action: Action, point: Point, isPast = false): Action {
  const done = action !== 'redact' ? action : point === 'user' ? 'refuse' : 'replace';
  return isPast && (done === 'refuse' || done === 'stop' || done === 'throw') ? 'replace' : done;
}

function fenced<T>({ setup, point, content }: Screening<T>, value: T): T {
  return content === undefined || !isData(point) ? value : setup.own.fence(point, value, content);
}

function tell<E extends Omit<GuardEvent, 'runId' | 'point' | 'tool' | 'unreadable' | 'durationMs'>>(
  screening: Screening,
  said: E,
): GuardEvent & E {
  const { setup, point, call, current, content, started } = screening;
  const runId = current?.id ?? setup.ownRun;
  const { effect = isStructure(point) ? setup.effects.of(toolOf(screening), call.effect) : undefined } = said;
  const about = { runId, point, tool: call.tool, ...(effect && { effect }), unreadable: content?.unreadable ?? [] };
  const event = { ...said, ...about, durationMs: performance.now() - started };
  setup.tell(event, call, current);
  return event;
}

/** Adds to the run what is passed on; the decision on a call that carries a value from untrusted data. */
async function follow<T>(
  screening: Screening<T>,
  read: readonly Read[],
  found: Screened | undefined,
): Promise<Decision<T> | undefined> {
  const { setup, point, value, call, run } = screening;
  if (point === 'tool_definition') setup.effects.readDefinition(toolOf(screening), value);
  if (run === undefined || point === 'tool_definition') return undefined;
  if (point === 'tool_call') return followCall(screening, run, found);
  if (point === 'user') await rememberUser(run, read);
  else await rememberData(run, await withWindows(screening, read), call.tool, setup.policy.flow);
  return undefined;
}

async function followCall<T>(
  screening: Screening<T>,
  run: RunMemory,
  found: Screened | undefined,
): Promise<Decision<T> | undefined> {
  const { setup, point, value, call, content } = screening;
  const { ruleCall } = await import('./run/rule-call.js');
  const { name, arguments: args = value } = value as { readonly name?: unknown; readonly arguments?: unknown };
  const tool = call.tool ?? (typeof name === 'string' ? name : undefined);
  const known = toolOf(screening);
  const [effect, declared] = [setup.effects.ofCall(known, call.effect), setup.effects.policyOf(known)];
  const inputs = content?.inputs ?? [];
  const asked = { ...call, tool, effect, declared, arguments: args, inputs };
  // A judge and a person are asked within the run.
  const { onAsk = call.onAsk } = setup;
  const ruling = await setup.runs.within(run, () => ruleCall(run, asked, { ...setup, onAsk }));
  if (ruling === undefined) return undefined;
  const { action, rule, judgement, answer, question } = ruling;
  const { suspicious, foreign } = setup.policy.flow;
  const facts = { ...factsOf(found ?? 'error'), cause: 'flow', rule, reason: flowReason(ruling) } as const;
  const said = { flows: withoutTexts(ruling.flows), policy: { suspicious, foreign }, judgement, answer };
  const event = tell(screening, { ...facts, action, effect, ...said });
  const enforcement = enforcementOf(event, noteOf(point, facts.reason, facts));
  if (action === 'report') return { action, value, enforcement };
  setup.own.add([enforcement.note], 'tool_result');
  return { action, enforcement, ...(question !== undefined && { question }) };
}

/** The name that the policy knows the tool of a call or a definition by. */
function toolOf({ value, call }: Screening): string | undefined {
  const { name } = value as { readonly name?: unknown };
  return fullName(call.tool ?? (typeof name === 'string' ? name : undefined), name);
}

/** Verdicts on long suspicious texts with the windows that the model scored, so that the rest of them stays usable. */
async function withWindows({ setup, request }: Screening, read: readonly Read[]): Promise<readonly Read[]> {
  const { screener, policy } = setup;
  return Promise.all(
    read.map(async ({ input, found }) => {
      const isLong =
        found?.verdict.decided_by === 'ml' && found.windows.length === 0 && inputText(input).length > LONG_TEXT;
      if (!isLong || !isSuspicious(found, policy.flow)) return { input, found };
      const explained = screener.screen(input, { ...request, explain: true }).catch(() => found);
      return { input, found: await explained };
    }),
  );
}

function isData(point: Point): boolean {
  return point === 'tool_result' || point === 'document';
}

/** Whether a value is read as one structure: what a tool is called with, and how it is described. */
function isStructure(point: Point): boolean {
  return point === 'tool_call' || point === 'tool_definition';
}
