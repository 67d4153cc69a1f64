/** Guards the Claude Agent SDK by its hooks. Imports nothing of it: its types are met by shape. */
import { type Enforcement, type Guard, PortcullisBlocked, passes, type ScreenCall } from '../../policy/index.js';

/** What a hook answers. */
export interface HookOutput {
  continue?: boolean;
  stopReason?: string;
  decision?: 'block';
  reason?: string;
  hookSpecificOutput?:
    | { hookEventName: 'UserPromptSubmit'; suppressOriginalPrompt: boolean }
    | { hookEventName: 'PreToolUse'; permissionDecision: 'deny' | 'ask'; permissionDecisionReason: string }
    | { hookEventName: 'PostToolUse'; updatedToolOutput: unknown };
}

/** A matcher of `options.hooks`. */
export interface HookMatcher {
  hooks: ((input: object, toolUseId: string | undefined, options: { signal: AbortSignal }) => Promise<HookOutput>)[];
  onFailure: 'block';
}

type Event = 'UserPromptSubmit' | 'PreToolUse' | 'PostToolUse' | 'PostToolUseFailure' | 'PostToolBatch';

interface Fields {
  readonly session_id?: string;
  readonly prompt?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_response?: unknown;
  readonly tool_use_id?: string;
  readonly error?: string;
  readonly tool_calls?: readonly { readonly tool_use_id: string }[];
}

/**
 * The hooks for `options.hooks`: prompts, the arguments of tools, their results and failures. A blocked result keeps its
 * shape, or the host would ignore the change: only the strings in it that are blocked become the note. What can't be
 * replaced (a failed tool, an attack spread over several strings) stops the run before the next model call.
 *
 * A host without `redact` for prompts refuses them. The session's id is the run id.
 */
export function guardHooks(guard: Guard): Record<Event, HookMatcher[]> {
  /** Calls whose text reached the transcript as it is: the run may not go on. Emptied after each batch of calls. */
  const unsafe = new Map<string, Enforcement>();

  const on =
    (answer: (input: Fields, call: ScreenCall) => Promise<HookOutput>): HookMatcher['hooks'][number] =>
    async (input, _, { signal }) => {
      const fields = input as Fields;
      try {
        return await answer(fields, { signal, runId: fields.session_id, tool: fields.tool_name });
      } catch (error) {
        if (error instanceof PortcullisBlocked) return stopped(error.enforcement);
        if (!signal.aborted) throw error;
        const reason = 'The screening was cancelled.';
        return { continue: false, stopReason: reason, decision: 'block', reason };
      }
    };

  const answers: Record<Event, HookMatcher['hooks'][number]> = {
    UserPromptSubmit: on(async ({ prompt }, call) => {
      const decision = await guard.screen('user', prompt, call);
      if (decision.action === 'allow' || decision.action === 'report') return {};
      return {
        decision: 'block',
        reason: decision.enforcement.note,
        hookSpecificOutput: { hookEventName: 'UserPromptSubmit', suppressOriginalPrompt: true },
      };
    }),
    PreToolUse: on(async ({ tool_name, tool_input }, call) => {
      const decision = await guard.screen('tool_call', { name: tool_name, arguments: tool_input ?? null }, call);
      if (passes(decision)) return {};
      return {
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: decision.action === 'ask' ? 'ask' : 'deny',
          permissionDecisionReason: decision.enforcement.note,
        },
      };
    }),
    PostToolUse: on(async ({ tool_response, tool_use_id }, call) => {
      const decision = await guard.screen('tool_result', tool_response, call);
      if (passes(decision)) return decision.value === tool_response ? {} : updated(decision.value);
      const { enforcement } = decision;
      const scrubbed = await scrub(tool_response, call);
      if (scrubbed === tool_response || decision.action === 'stop') {
        unsafe.set(String(tool_use_id), enforcement);
        return { ...stopped(enforcement), ...(scrubbed === tool_response ? {} : updated(scrubbed)) };
      }
      return updated(scrubbed);
    }),
    PostToolUseFailure: on(async ({ error, tool_use_id }, call) => {
      const decision = await guard.screen('tool_result', error, call);
      if (decision.action === 'allow' || decision.action === 'report') return {};
      unsafe.set(String(tool_use_id), decision.enforcement);
      return {};
    }),
    PostToolBatch: on(async ({ tool_calls = [] }) => {
      const ids = tool_calls.map(({ tool_use_id }) => tool_use_id);
      const found = ids.map((id) => unsafe.get(id)).find((enforcement) => enforcement !== undefined);
      for (const id of ids) unsafe.delete(id);
      return found === undefined ? {} : stopped(found);
    }),
  };

  /** A copy whose blocked strings are the note; the same value where no single string is blocked. */
  async function scrub(value: unknown, call: ScreenCall, depth = 0): Promise<unknown> {
    if (typeof value === 'string') {
      const decision = await guard.screen('tool_result', value, call);
      return passes(decision) ? decision.value : decision.enforcement.note;
    }
    if (typeof value !== 'object' || value === null || depth > 50) return value;
    const entries = Object.entries(value);
    const shown = await Promise.all(entries.map(([, item]) => scrub(item, call, depth + 1)));
    if (shown.every((item, index) => item === entries[index]?.[1])) return value;
    return Array.isArray(value) ? shown : Object.fromEntries(entries.map(([name], index) => [name, shown[index]]));
  }

  return Object.fromEntries(
    Object.entries(answers).map(([event, hook]) => [event, [{ hooks: [hook], onFailure: 'block' }]]),
  ) as Record<Event, HookMatcher[]>;
}

function updated(updatedToolOutput: unknown): HookOutput {
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } };
}

function stopped({ note }: Enforcement): HookOutput {
  return { continue: false, stopReason: note };
}
