/** Screens the items of a conversation: messages of Chat Completions, items of Responses and of `@openai/agents`. */
import { newestTurn, type ScreenCall } from '../../policy/index.js';
import type { CallScreening, Members } from '../screened-call.js';

const OPERATOR = new Set<unknown>(['assistant', 'system', 'developer']);
/** Items that are the model's own words. All that isn't listed is screened. */
const MODEL_ITEMS = new Set<unknown>(
  `reasoning compaction compaction_trigger item_reference configuration_update function_call custom_tool_call computer_call
  local_shell_call shell_call apply_patch_call web_search_call image_generation_call tool_search_call mcp_approval_request
  program`.split(/\s+/),
);
/** Screened on their own, or written by the model beside what a tool said. */
const APART = ['content', 'output', 'tools', 'arguments', 'code', 'queries'];

/** The items as they may be shown. A refused text of an earlier turn becomes the note. */
export function screenItems<I extends object>(screening: CallScreening, items: readonly I[]): Promise<I[]> {
  const newest = newestTurn(items, (item) => pointOf(item as Members) === 'user');
  return Promise.all(items.map((item, index) => screenItem(screening, item, { isPast: index < newest })));
}

async function screenItem<I extends object>(screening: CallScreening, item: I, call: ScreenCall): Promise<I> {
  const { content, output, tools, name } = item as Members;
  const point = pointOf(item as Members);
  const defined = Array.isArray(tools) ? { ...item, tools: await screening.tools(tools) } : item;
  if (point === undefined) return defined;
  const asked = { ...call, ...(point === 'tool_result' && typeof name === 'string' && { tool: name }) };
  return {
    ...(await screening.others(point, defined, APART, asked)),
    ...(content !== undefined && { content: await screening.content(point, content, asked) }),
    ...(output !== undefined && { output: await screening.content(point, output, asked) }),
  };
}

/** Whose words an item has; undefined for those of the operator and the model. */
export function pointOf({ role, type }: Members): 'user' | 'tool_result' | undefined {
  if (OPERATOR.has(role)) return undefined;
  if (role === 'tool' || role === 'function') return 'tool_result';
  if (role !== undefined || type === undefined || type === 'message') return 'user';
  return MODEL_ITEMS.has(type) ? undefined : 'tool_result';
}
