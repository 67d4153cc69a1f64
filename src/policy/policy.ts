import type { Channel } from '../engine/channel.js';
import { PortcullisError } from '../engine/errors.js';
import type { DecidedBy } from '../engine/verdict.js';
import type { Unreadable } from './content.js';
import type { OnAsk } from './run/ask.js';
import type { KnownEffect } from './run/effects.js';
import type { Flow } from './run/flow.js';
import { checkFlowPolicy, DEFAULT_FLOW_POLICY, type FlowActions, type FlowPolicy } from './run/flow-policy.js';
import type { Judgement } from './run/judge.js';
import type { Leak } from './run/output/leaks.js';
import type { RunKey } from './run/run-memory.js';
import type { Effect } from './run/tool-policy.js';
import type { ReportedFinding } from './screener.js';

/** Place in an agent at which a text is screened. */
export type Point = 'user' | 'tool_call' | 'tool_result' | 'document' | 'tool_definition' | 'output';

/**
 * Actions for a text that is blocked, by point. `report` lets it pass and only reports it.
 *
 * - `refuse`: the model isn't called; the run ends with a refusal.
 * - `throw`: the run fails with `PortcullisBlocked`.
 * - `deny`: the tool isn't run, and the model gets the note. `ask`: a person decides, if the host can ask one.
 * - `replace`: a note stands in the text's place. `stop`: the same, and the model isn't called again.
 * - `redact`: the offending spans are removed and the rest is screened again; a rest that is still blocked is replaced
 *   (refused, for `user`).
 * - `hide`: the document or tool definition is left out.
 *
 * Of `output`, what the model writes within a run, only ways out are found: `redact` puts a note in the place of a link's
 * target, `deny` in the place of the whole text; `off` does not look.
 */
export interface Policy {
  readonly user: 'refuse' | 'throw' | 'redact' | 'report';
  readonly tool_call: 'deny' | 'ask' | 'throw' | 'report';
  readonly tool_result: 'replace' | 'redact' | 'stop' | 'throw' | 'report';
  readonly document: 'replace' | 'redact' | 'hide' | 'throw' | 'report';
  readonly tool_definition: 'hide' | 'throw' | 'report';
  readonly output: 'redact' | 'deny' | 'report' | 'off';
  /** Action for a call of a run that carries a value from untrusted data. */
  readonly flow: FlowPolicy;
}

/** Action that was taken with a text. */
export type Action = Exclude<Policy[Point], 'off'>;

/** The policy where a guard is given none. */
export const DEFAULT_POLICY: Policy = {
  user: 'refuse',
  tool_call: 'deny',
  tool_result: 'replace',
  document: 'replace',
  tool_definition: 'hide',
  output: 'redact',
  flow: DEFAULT_FLOW_POLICY,
};

const ACTIONS: { readonly [P in Point]: readonly Policy[P][] } = {
  user: ['refuse', 'throw', 'redact', 'report'],
  tool_call: ['deny', 'ask', 'throw', 'report'],
  tool_result: ['replace', 'redact', 'stop', 'throw', 'report'],
  document: ['replace', 'redact', 'hide', 'throw', 'report'],
  tool_definition: ['hide', 'throw', 'report'],
  output: ['redact', 'deny', 'report', 'off'],
};

/** @throws TypeError for a point or an action that does not exist: JavaScript has no type that would say so */
export function checkPolicy({ flow, ...points }: Policy): void {
  checkFlowPolicy(flow);
  for (const [point, action] of Object.entries(points)) {
    const actions: readonly string[] | undefined = Object.hasOwn(ACTIONS, point) ? ACTIONS[point as Point] : undefined;
    if (actions === undefined)
      throw new TypeError(`the policy has no point ${point}: there are ${Object.keys(ACTIONS).join(', ')}, flow`);
    if (!actions.includes(action))
      throw new TypeError(`${String(action)} is not an action for ${point}; choose one of ${actions.join(', ')}`);
  }
}

/**
 * Index of the message that began the newest turn: the user's last one. What stands before it is past: screen it with
 * `isPast`. Of two messages of the user in a row the first is past too, since some hosts keep no answer to a refused one.
 */
export function newestTurn<M>(messages: readonly M[], isUser: (message: M) => boolean): number {
  return Math.max(messages.findLastIndex(isUser), 0);
}

/** Milliseconds in which a person answers, unless a guard says more. */
export const ASK_TIMEOUT_MS = 60_000;

/** The engine's channel of each point; `output` isn't screened by the engine. */
export const CHANNEL_OF_POINT: Readonly<Record<Point, Channel>> = {
  user: 'user',
  tool_call: 'tool_call',
  tool_result: 'tool_result',
  document: 'document',
  tool_definition: 'instructions',
  output: 'unknown',
};

/** The reason why a text didn't pass as it was. */
export interface Enforcement {
  /** `run_` and 24 hex digits, or the host's own id: the same for every layer of a run. */
  readonly runId: string;
  /** The verdict's; a fresh one where the screening failed. */
  readonly evidenceId: string;
  readonly point: Point;
  readonly action: Action;
  /**
   * `verdict`: the engine blocked it. `flow`: a call carries a value from untrusted data. `output`: a text of the model opens
   * a way out. Otherwise it wasn't screened, and the guard fails closed.
   */
  readonly cause: 'verdict' | 'flow' | 'output' | 'error' | 'timeout' | 'unreadable';
  /** The rule that blocked it, that of a flow or a leak, such as `flow.foreign`; `none` where it wasn't screened. */
  readonly rule: string;
  /** One sentence. Never quotes the input. */
  readonly reason: string;
  /** Note for a model or a person to read in the text's place: why it is missing, the rule and the evidence id. */
  readonly note: string;
  /** For the cause `flow`: the arguments, and where their values come from. */
  readonly flows?: readonly Flow[] | undefined;
  /** For the cause `flow`: what the judge said, where one was asked. */
  readonly judgement?: Judgement | undefined;
  /** For the cause `output`: the ways out, and where their hosts or values come from. */
  readonly leaks?: readonly Leak[] | undefined;
}

/** Outcome for a value. `value` is what may be passed on. */
export type Decision<T> =
  | { readonly action: 'allow'; readonly value: T; readonly enforcement?: undefined }
  | { readonly action: 'redact' | 'report'; readonly value: T; readonly enforcement: Enforcement }
  | {
      readonly action: 'refuse' | 'deny' | 'ask' | 'replace' | 'stop' | 'hide';
      readonly value?: undefined;
      readonly enforcement: Enforcement;
      /** Of a flow that the host asks a person about: the question in words. It quotes the values: show it, don't log it. */
      readonly question?: string | undefined;
    };

/** Whether a decision has a value to pass on. */
export function passes<T>(
  decision: Decision<T>,
): decision is Extract<Decision<T>, { action: 'allow' | 'redact' | 'report' }> {
  return decision.action === 'allow' || decision.action === 'redact' || decision.action === 'report';
}

/** Options for screening one value. */
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
  /**
   * The run belongs to several models, each with users of its own: a value that one of them brings into a call doesn't count as given
   * in the calls of another. Default false.
   */
  readonly isShared?: boolean | undefined;
  /**
   * Output that its provider signed, as some do with thoughts, and rejects once changed: it stays as it is, and ways out are only
   * reported. For a stream: the text may be signed, so that from the first way out on it is held back until `end` says. Default false.
   */
  readonly isSigned?: boolean | undefined;
  /** Asks a person about this call, where the guard has no `onAsk` of its own. */
  readonly onAsk?: OnAsk | undefined;
  /** Asks the engine for its findings, for `report`. */
  readonly explain?: boolean | undefined;
  /** Told of the screenings of this call, after the guard's own `report`. */
  readonly report?: ((event: GuardEvent) => void) | undefined;
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A text of the model that comes in pieces. What is shown together is what would be shown of the whole text: a piece is held back
 * while a link in it could still go on, or lead elsewhere. Where the policy says `deny`, the note takes the place of the rest.
 */
export interface OutputStream {
  /** Takes the next piece, and returns what may be shown by now. One at a time. */
  write(piece: string): Promise<string>;
  /**
   * Ends the text and returns what was held back. After that the next text of the same answer may be written.
   * `isSigned`: whether the provider signed this text.
   */
  end(isSigned?: boolean): Promise<string>;
}

/** One screening or enforcement, without any screened text: safe to log. */
export interface GuardEvent {
  readonly runId: string;
  readonly evidenceId: string;
  readonly point: Point;
  /** The name of the tool, where there is one. */
  readonly tool: string | undefined;
  /** Of a call or a definition: what the tool is taken to do, and why. */
  readonly effect?: KnownEffect | undefined;
  /** Verdict of the engine; `error` without one. */
  readonly verdict: 'allow' | 'block' | 'error';
  /** Action that was taken. */
  readonly action: 'allow' | Action;
  readonly cause: Enforcement['cause'];
  readonly rule: string;
  readonly reason: string | null;
  /** 0..1; null where the screening failed. */
  readonly score: number | null;
  /** The side that decided, and the versions behind it; null where the screening failed. */
  readonly decidedBy: DecidedBy | null;
  readonly rulesVersion: string | null;
  readonly mlVersion: string | null;
  /** Findings of the rules, strongest first; empty unless the call asked for them, or the policy redacts. */
  readonly findings: readonly ReportedFinding[];
  /** Whether the verdict came from the guard's cache. */
  readonly cached: boolean;
  /** Kinds of the parts that could not be read, such as `image`; `stream` for what gives its text only later. */
  readonly unreadable: readonly Unreadable[];
  /** For the cause `flow`: the arguments, and where their values come from. */
  readonly flows?: readonly Flow[] | undefined;
  /** For the cause `flow`: the flow policy in force. Together with `effect`, `flows`, `judgement` and `answer` it determines the action. */
  readonly policy?: FlowActions | undefined;
  /** For the cause `flow`: what the judge said, where one was asked. */
  readonly judgement?: Judgement | undefined;
  /** For the cause `flow`: whether a person permitted the call, where the guard asked one. */
  readonly answer?: boolean | undefined;
  /** For the cause `output`: the ways out, and where their hosts or values come from. */
  readonly leaks?: readonly Leak[] | undefined;
  /** Milliseconds of this decision. */
  readonly durationMs: number;
}

/** Thrown for the action `throw`. The message is the note: it never quotes the input. */
export class PortcullisBlocked extends PortcullisError {
  override readonly name = 'PortcullisBlocked';
  readonly code = 'BLOCKED';
  readonly enforcement: Enforcement;

  constructor(enforcement: Enforcement) {
    super(enforcement.note);
    this.enforcement = enforcement;
  }

  /** The note alone: hosts show a model an error's text by it. */
  override toString(): string {
    return this.message;
  }
}
