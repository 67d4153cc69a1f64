/** Screens the items of a conversation: messages of Chat Completions, items of Responses and of `@openai/agents`. */
import type { ScreenCall } from '../../policy/index.js';
import { isObject, type JsonObject } from '../json-value.js';
import type { Author, CallScreening } from '../screened-call.js';

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
    (item) => authorOf(item as JsonObject),
    (item, at) => {
      const { name, type, call_id, callId = call_id, tool_call_id = callId } = item as JsonObject;
      const author = authorOf(item as JsonObject);
      const tool = author !== 'tool' ? undefined : typeof name === 'string' ? name : screening.toolOf(tool_call_id);
      const point = author === 'tool' ? 'tool_result' : author === 'user' ? author : undefined;
      if (type === 'web_search_call') return screenSearch(screening, item, at);
      return screening.item(point, item, { ...at, tool }, MODEL_MEMBERS[String(type)]);
    },
  );
}

/** A search of the model: what it found stands in it. */
async function screenSearch<I extends object>(screening: CallScreening, item: I, at: ScreenCall): Promise<I> {
  const { action } = item as JsonObject;
  if (!isObject(action)) return item;
  const own = Object.keys(action).filter((name) => name !== 'sources');
  const shown = await screening.item('tool_result', action, { ...at, tool: 'web_search' }, own);
  return shown === action ? item : { ...item, action: shown };
}

/** Returns the author of an item. */
export function authorOf({ role, type }: JsonObject): Author {
  if (role === 'assistant') return 'model';
  if (role === 'system' || role === 'developer') return 'operator';
  if (role === 'tool' || role === 'function') return 'tool';
  if (role !== undefined || type === undefined || type === 'message') return 'user';
  return MODEL_ITEMS.has(type) ? 'model' : 'tool';
}
