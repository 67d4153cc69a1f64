/** One policy for all layers of an agent: what a guard is asked, and what a run of it is. */
import { checkOptions, type Known } from '../engine/options.js';
import { readContent } from './content.js';
import { type GuardOptions, readOptions, type Setup } from './guard-options.js';
import type { Decision, OutputStream, Point, Policy, ScreenCall } from './policy.js';
import type { KnownEffect, KnownTool } from './run/effects.js';
import { plainText } from './run/pieces/prose.js';
import { callEntry, trustedEntry } from './run/remember.js';
import type { RunKey, RunMemory } from './run/run-memory.js';
import type { Effect } from './run/tool-policy.js';
import { openOutputStream, screenOutput } from './screen-output.js';
import { screenValue } from './screening.js';

/** A policy with an engine behind it: what every integration asks. Reusable; calls may overlap. */
export interface Guard {
  readonly policy: Policy;
  /**
   * Screens a value and does what the policy says. Give it a content whole, e.g. all blocks of a message: an attack may be
   * split over them. The texts of its blocks are screened as the one text that a model reads, those in bytes, base64 and data
   * URLs too, and whatever else it holds as canonical JSON. An integration says where content stands, and puts the note in the
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
  /** Returns the effect that the guard assumes for a tool, and why. */
  effectOf(tool: string, declared?: Effect): KnownEffect;
  /** Reads the annotations of a definition that isn't screened, such as one that a person approved. */
  readDefinition(tool: string, definition: unknown): void;
  /** Returns the effect that the guard assumes for each tool, and why. */
  info(): GuardInfo;
  /** Whether the policy leaves questions to the host: `ask` for calls, or for flows without an `onAsk`. */
  readonly leavesToHost: boolean;
  /** The current run's id. */
  readonly runId: string;
}

/** A guard's view of an agent. */
export interface GuardInfo {
  /** The tools that `tools` names, that were defined and that were called, by name: what each is taken to do, and why. */
  readonly tools: readonly KnownTool[];
}

/** Options for starting a run. */
export interface RunOptions {
  /** The host's id of the run, or the object that stands for it, such as its context; a fresh one unless given. */
  readonly id?: RunKey | undefined;
  /** Request of the user; default: the newest texts that are screened as `user` and allowed. */
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

const SCREEN_OPTIONS: Known<ScreenCall> = {
  runId: true,
  tool: true,
  effect: true,
  task: true,
  isPast: true,
  isApart: true,
  isShared: true,
  isSigned: true,
  onAsk: true,
  explain: true,
  report: true,
  signal: true,
};
const RUN_OPTIONS: Known<RunOptions> = {
  id: true,
  task: true,
  brief: true,
  canaries: true,
};
/** Letters and digits of a canary: fewer stand in any text. */
const MIN_CANARY = 8;

/**
 * Makes a guard: one policy for all layers of an agent.
 *
 * @throws TypeError where both `engine` and `client` are given, or for options that do not exist; RangeError for a `timeoutMs`,
 * `askTimeoutMs` or `judgeTimeoutMs` that is no positive number of milliseconds below 2^31
 *
 * @example
 * ```ts
 * const guard = createGuard({ on: { tool_result: 'redact' } });
 * const decision = await guard.screen('tool_result', page, { tool: 'read_page' });
 * ```
 */
export function createGuard(options: GuardOptions = {}): Guard {
  const setup = readOptions(options);
  const { policy, runs, effects, ownRun, onAsk } = setup;
  const { suspicious, foreign } = policy.flow;
  async function screenIn<T>(
    run: RunMemory | undefined,
    point: Point,
    value: T,
    call: ScreenCall,
  ): Promise<Decision<T>> {
    return point === 'output' ? screenOutput(setup, value, call, run) : screenValue(setup, point, value, call, run);
  }

  const guard: Guard = {
    policy,
    async screen(point, value, call = {}) {
      checkOptions('screen', call, SCREEN_OPTIONS);
      return screenIn(runs.find(call.runId), point, value, call);
    },
    outputStream(call = {}) {
      checkOptions('outputStream', call, SCREEN_OPTIONS);
      return openOutputStream(setup, call);
    },
    run(given = {}) {
      checkOptions('run', given, RUN_OPTIONS);
      const { id, brief = false } = given;
      const run = brief ? (runs.find(id) ?? runs.openBrief(ownRun)) : runs.open(id);
      const within = <R>(work: () => R): R => runs.within(run, work);
      // A guard around this one, such as an instrumented one, finds the run by its context, which costs more.
      const screen: Run['screen'] =
        this.screen === guard.screen
          ? async (point, value, call = {}) => {
              checkOptions('screen', call, SCREEN_OPTIONS);
              return screenIn(run, point, value, call);
            }
          : (point, value, call) => within(() => this.screen(point, value, { ...call, runId: run.id }));
      const outputStream: Run['outputStream'] = (call) => within(() => this.outputStream({ ...call, runId: run.id }));
      return openRun(setup, run, given, { screen, outputStream });
    },
    inRun: (work, runId) => runs.within(runs.open(runId), work),
    leavesToHost: policy.tool_call === 'ask' || (onAsk === undefined && [suspicious, foreign].includes('ask')),
    effectOf: (tool, declared) => effects.of(tool, declared),
    readDefinition: (tool, definition) => effects.readDefinition(tool, definition),
    info: () => ({ tools: effects.list() }),
    get runId() {
      return runs.find(undefined)?.id ?? ownRun;
    },
  };
  return guard;
}

function openRun(
  { effects }: Setup,
  run: RunMemory,
  { task, canaries = [] }: RunOptions,
  screenings: Pick<Run, 'screen' | 'outputStream'>,
): Run {
  if (task !== undefined) run.task = task;
  const textsOf = (value: unknown, isCall: boolean): readonly string[] =>
    readContent(value ?? '', isCall).inputs.map(plainText);
  const canary = (secret: string): void => {
    if (secret.replace(/[^\p{L}\p{N}]+/gu, '').length < MIN_CANARY)
      throw new RangeError(`a canary has ${MIN_CANARY} letters and digits or more`);
    run.canaries.add(secret);
  };
  for (const secret of canaries) canary(secret);
  return {
    id: run.id,
    ...screenings,
    trust(content) {
      run.pending.push(...textsOf(content, false).map(trustedEntry));
    },
    recall(call) {
      const { name } = (call ?? {}) as { readonly name?: unknown };
      const { effect } = effects.of(typeof name === 'string' ? name : undefined);
      run.pending.push(...textsOf(call, true).map((text) => callEntry(text, effect)));
    },
    canary,
  };
}
