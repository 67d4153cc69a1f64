/**
 * Answers an event of a Claude Code hook: for the Agent SDK in process, `portcullis hook` and the service alike.
 * The guard's run, by the id of the session, is all that lasts from one event to the next. Meets the host's types by shape.
 */
import { type Enforcement, type Guard, PortcullisBlocked, passes, type ScreenCall } from '../../policy/index.js';
import { scrub } from '../noted-content.js';

/** The events that say something to screen. All others pass. */
export const HOOK_EVENTS = [
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
] as const;
export type HookEventName = (typeof HOOK_EVENTS)[number];

/** An event as the host describes it; what isn't here isn't read. */
export interface HookEvent {
  readonly hook_event_name?: unknown;
  readonly session_id?: unknown;
  readonly prompt?: unknown;
  readonly tool_name?: unknown;
  readonly tool_input?: unknown;
  readonly tool_response?: unknown;
  readonly error?: unknown;
  readonly tool_calls?: unknown;
}

/** Response of a hook. */
export interface HookOutput {
  continue?: boolean;
  stopReason?: string;
  decision?: 'block';
  reason?: string;
  /** Shown to the user. */
  systemMessage?: string;
  hookSpecificOutput?:
    | { hookEventName: 'UserPromptSubmit'; suppressOriginalPrompt: boolean }
    | { hookEventName: 'PreToolUse'; permissionDecision: 'deny' | 'ask'; permissionDecisionReason: string }
    | { hookEventName: 'PostToolUse'; updatedToolOutput: unknown };
}

/** Results of one batch that are screened one by one; those beyond them are screened as one. */
const MAX_RESULTS = 100;

/**
 * Screens an event and answers it. A prompt is refused, a call denied or left to a person, a result replaced in its own
 * shape (the host ignores a replacement of another shape): only the strings in it that are blocked become the note. Where
 * that can't be done the run stops before the next model call. `PostToolBatch` has what the model is about to be shown, also
 * of failed tools, which can't be replaced: blocked text there stops the run.
 *
 * @throws the signal's reason, and what the guard's report throws
 */
export async function answerHook(guard: Guard, event: HookEvent, call: ScreenCall = {}): Promise<HookOutput> {
  const { hook_event_name: name, session_id, tool_name } = event;
  const tool = typeof tool_name === 'string' ? tool_name : undefined;
  const runId = typeof session_id === 'string' ? session_id : undefined;
  const asked: ScreenCall = {
    ...call,
    ...(runId === undefined ? {} : { runId }),
    ...(tool === undefined ? {} : { tool }),
  };
  const isKnown = Object.hasOwn(ANSWERS, String(name));
  try {
    return isKnown ? await ANSWERS[name as HookEventName](guard, event, asked) : {};
  } catch (error) {
    if (error instanceof PortcullisBlocked) return stopped(error.enforcement.note);
    throw error;
  }
}

/** Whether a response stops the text: exit code 2 of a command hook. With `ask`, a person may still allow it. */
export function isBlocking({ continue: goesOn, decision, hookSpecificOutput: specific }: HookOutput): boolean {
  const isDenied = specific?.hookEventName === 'PreToolUse' && specific.permissionDecision === 'deny';
  return goesOn === false || decision === 'block' || isDenied;
}

/** The response to an event that couldn't be screened: it blocks every kind of event. `reason` contains no screened text. */
export function failedHook(reason: string): HookOutput {
  return { continue: false, stopReason: reason, decision: 'block', reason };
}

/** Another host may name the member differently: an event without it would pass unscreened. */
function incomplete(member: string): string {
  return `Blocked by portcullis: the text could not be screened: the event has no \`${member}\`.`;
}

type Answer = (guard: Guard, event: HookEvent, call: ScreenCall) => Promise<HookOutput>;

const ANSWERS: Readonly<Record<HookEventName, Answer>> = {
  async UserPromptSubmit(guard, { prompt }, call) {
    if (typeof prompt !== 'string') return failedHook(incomplete('prompt'));
    const decision = await guard.screen('user', prompt, call);
    // A hook can't rewrite a prompt: `redact` refuses it.
    if (decision.action === 'allow' || decision.action === 'report') return {};
    return {
      decision: 'block',
      reason: decision.enforcement.note,
      hookSpecificOutput: { hookEventName: 'UserPromptSubmit', suppressOriginalPrompt: true },
    };
  },
  async PreToolUse(guard, { tool_name, tool_input }, call) {
    const decision = await guard.screen('tool_call', { name: tool_name, arguments: tool_input ?? null }, call);
    if (passes(decision)) return {};
    return {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: decision.action === 'ask' ? 'ask' : 'deny',
        permissionDecisionReason:
          decision.action === 'ask' ? questionOf(decision.enforcement) : decision.enforcement.note,
      },
    };
  },
  async PostToolUse(guard, { tool_response }, call) {
    const decision = await guard.screen('tool_result', tool_response, call);
    if (passes(decision)) return decision.value === tool_response ? {} : updated(decision.value);
    const { note, cause } = decision.enforcement;
    // Which strings are unsafe is unknown.
    if (cause !== 'verdict') return stopped(note);
    const scrubbed = await scrub(guard, 'tool_result', tool_response, call);
    if (scrubbed === undefined) return stopped(note);
    return decision.action === 'stop' ? { ...stopped(note), ...updated(scrubbed) } : updated(scrubbed);
  },
  async PostToolUseFailure(guard, { error }, call) {
    const decision = await guard.screen('tool_result', error, call);
    return decision.action === 'allow' || decision.action === 'report' ? {} : stopped(decision.enforcement.note);
  },
  async PostToolBatch(guard, { tool_calls }, call) {
    if (!Array.isArray(tool_calls)) return failedHook(incomplete('tool_calls'));
    const calls = tool_calls as readonly ({ tool_name?: unknown; tool_response?: unknown } | null)[];
    const results = calls.map((one) => one?.tool_response);
    const rest = results.splice(MAX_RESULTS);
    for (const [index, result] of (rest.length > 0 ? [...results, rest] : results).entries()) {
      const name = index < MAX_RESULTS ? calls[index]?.tool_name : undefined;
      const asked = typeof name === 'string' ? { ...call, tool: name } : call;
      const decision = await guard.screen('tool_result', result, asked);
      if (decision.action !== 'allow' && decision.action !== 'report') return stopped(decision.enforcement.note);
    }
    return {};
  },
};

/** Returns the question that a person reads beside the call that Claude Code shows. */
function questionOf({ cause, reason, note }: Enforcement): string {
  return cause === 'flow' ? `portcullis: ${reason} Allow it only if you want this.` : note;
}

function updated(updatedToolOutput: unknown): HookOutput {
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } };
}

function stopped(note: Enforcement['note']): HookOutput {
  return { continue: false, stopReason: note };
}
