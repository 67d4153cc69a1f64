/** Guards the Claude Agent SDK by its hooks. Imports nothing of it: its types are met by shape. */
import { type Guard, PortcullisBlocked } from '../../policy/index.js';
import { answerHook, failedHook, type HookEvent, type HookEventName, type HookOutput } from './answer-hook.js';

export type { HookOutput } from './answer-hook.js';

/** A matcher of `options.hooks`. */
export interface HookMatcher {
  hooks: ((input: object, toolUseId: string | undefined, options: { signal: AbortSignal }) => Promise<HookOutput>)[];
  onFailure: 'block';
}

interface BatchCall {
  readonly tool_use_id?: string;
}

/**
 * The hooks for `options.hooks`: prompts, the arguments of tools, their results and failures. A blocked result keeps its
 * shape, or the host would ignore the change: only the strings in it that are blocked become the note. What can't be
 * replaced (a failed tool, an attack spread over several strings) stops the run before the next model call.
 *
 * A host without `redact` for prompts refuses them. The session's id is the run id.
 *
 * @example
 * ```ts
 * for await (const message of query({ prompt, options: { hooks: guardHooks(guard) } })) show(message);
 * ```
 */
export function guardHooks(guard: Guard): Record<HookEventName, HookMatcher[]> {
  /** Calls whose result passed as it is: the batch that holds it need not screen it again. Emptied by that batch. */
  const passed = new Set<string>();

  const matcher = (remember: (event: HookEvent & BatchCall) => HookEvent, passesOn = false): HookMatcher[] => [
    {
      onFailure: 'block',
      hooks: [
        async (input, _, { signal }) => {
          const event = input as HookEvent & BatchCall;
          try {
            const output = await answerHook(guard, remember(event), { signal });
            if (passesOn && Object.keys(output).length === 0) passed.add(String(event.tool_use_id));
            return output;
          } catch (error) {
            if (!signal.aborted || error instanceof PortcullisBlocked) throw error;
            return failedHook('The screening was cancelled.');
          }
        },
      ],
    },
  ];

  const same = (event: HookEvent): HookEvent => event;
  return {
    UserPromptSubmit: matcher(same),
    PreToolUse: matcher(same),
    PostToolUse: matcher(same, true),
    PostToolUseFailure: matcher(same, true),
    PostToolBatch: matcher((event) => {
      const calls = Array.isArray(event.tool_calls) ? (event.tool_calls as readonly BatchCall[]) : [];
      return { ...event, tool_calls: calls.filter(({ tool_use_id }) => !passed.delete(String(tool_use_id))) };
    }),
  };
}
