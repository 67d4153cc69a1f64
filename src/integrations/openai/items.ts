/** Screens the items of a conversation: messages of Chat Completions, items of Responses and of `@openai/agents`. */
import type { CallScreening, Members } from '../screened-call.js';

const OPERATOR = new Set<unknown>(['assistant', 'system', 'developer']);
/** Items that are the model's own words. All that isn't listed is screened. */
const MODEL_ITEMS = new Set<unknown>(
  `reasoning compaction compaction_trigger item_reference configuration_update function_call custom_tool_call computer_call
  local_shell_call shell_call apply_patch_call web_search_call image_generation_call tool_search_call mcp_approval_request
  program`.split(/\s+/),
);
/** Members that the model wrote beside what a tool said. */
const MODEL_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  mcp_call: ['arguments'],
  code_interpreter_call: ['code'],
  file_search_call: ['queries'],
  hosted_tool_call: ['arguments'],
};

/** The items as they may be shown. A refused text of an earlier turn becomes the note. */
export function screenItems<I extends object>(screening: CallScreening, items: readonly I[]): Promise<readonly I[]> {
  return screening.turns(
    items,
    (item) => pointOf(item as Members) === 'user',
    (item, at) => {
      const { name, type } = item as Members;
      const point = pointOf(item as Members);
      const call = point === 'tool_result' && typeof name === 'string' ? { ...at, tool: name } : at;
      return screening.item(point, item, call, MODEL_MEMBERS[String(type)]);
    },
  );
}

/** Whose words an item has; undefined for those of the operator and the model. */
export function pointOf({ role, type }: Members): 'user' | 'tool_result' | undefined {
  if (OPERATOR.has(role)) return undefined;
  if (role === 'tool' || role === 'function') return 'tool_result';
  if (role !== undefined || type === undefined || type === 'message') return 'user';
  return MODEL_ITEMS.has(type) ? undefined : 'tool_result';
}
