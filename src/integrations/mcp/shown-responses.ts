import { type Decision, passes } from '../../policy/index.js';
import { isObject, type JsonObject } from '../json-value.js';
import type { MessageId } from './messages.js';
import { type Asked, errorResponse, REFUSED, refusal } from './requests.js';
import { screenServerValue } from './screen-values.js';
import { type GatewayOptions, screenEach, type ToolList } from './tool-list.js';

export interface ResponseScreening extends Pick<GatewayOptions, 'guard'> {
  readonly tools: ToolList;
}

const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;

/** A response of the server as it may be shown; the same object where nothing changes. */
export async function screenResponse(
  screening: ResponseScreening,
  raw: JsonObject,
  asked: Asked | undefined,
): Promise<JsonObject> {
  const member = raw.error === undefined ? 'result' : 'error';
  const decision =
    member === 'result'
      ? await screenResult(screening, raw.result, asked)
      : await screenServerValue(screening.guard, 'tool_result', raw.error, asked?.call);
  if (passes(decision)) return decision.value === raw[member] ? raw : { ...raw, [member]: decision.value };
  const id = (raw.id ?? null) as MessageId | null;
  if (member === 'result') return refusal(id, decision.enforcement, asked, raw.result);
  const code = isObject(raw.error) && typeof raw.error.code === 'number' ? raw.error.code : REFUSED;
  return errorResponse(id, code, decision.enforcement.note);
}

/** A result as it may be shown: lists without what is blocked, the rest whole or not at all. */
async function screenResult(
  screening: ResponseScreening,
  result: unknown,
  asked: Asked | undefined,
): Promise<Decision<unknown>> {
  const { guard } = screening;
  const point = /^(?:tools|tasks)\//.test(asked?.method ?? 'tools/') ? 'tool_result' : 'document';
  if (!isObject(result)) return screenServerValue(guard, point, result, asked?.call);
  const lists = await shownLists(screening, result, asked);
  // An opaque token that goes back to the server.
  const isApart = (name: string): boolean =>
    Object.hasOwn(lists, name) || (name === 'nextCursor' && typeof result.nextCursor === 'string');
  const rest = Object.fromEntries(Object.entries(result).filter(([name]) => !isApart(name)));
  const decision = await screenServerValue(guard, point, rest, asked?.call);
  if (!passes(decision)) return decision;
  if (decision.value === rest && Object.entries(lists).every(([name, shown]) => shown === result[name]))
    return { ...decision, value: result };
  const shown: JsonObject = { ...result, ...(decision.value as JsonObject), ...lists };
  return {
    ...decision,
    value: Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
  };
}

/** The lists of a result and its instructions, each as it may be shown; undefined for instructions that may not. */
async function shownLists(
  { guard, tools }: ResponseScreening,
  result: JsonObject,
  asked: Asked | undefined,
): Promise<JsonObject> {
  const shown: Record<string, unknown> = {};
  for (const name of LISTS) {
    const items = result[name];
    if (!Array.isArray(items)) continue;
    const show = async (item: unknown): Promise<readonly unknown[]> =>
      passes(await screenServerValue(guard, 'tool_definition', item, asked?.call)) ? [item] : [];
    const kept =
      name === 'tools'
        ? await tools.show(guard, items, asked, result.nextCursor)
        : (await screenEach(items, show)).flat();
    shown[name] = kept.length === items.length ? items : kept;
  }
  // A document, not a definition: its values are then data of the run, and the model finds more in it (docs/hosts/mcp.md).
  if (typeof result.instructions === 'string')
    shown.instructions = (await guard.screen('document', result.instructions, asked?.call)).value;
  return shown;
}
