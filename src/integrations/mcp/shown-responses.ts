import { type Point, passes } from '../../policy/index.js';
import { isObject, type JsonObject, type MessageId } from './messages.js';
import type { Asked } from './requests.js';
import { errorResponse, REFUSED, refusal } from './responses.js';
import { type Screened, screenDefinition, screenValue } from './screen-values.js';
import { type GatewayOptions, screenEach, type ToolList } from './tool-list.js';

/** What screens responses. */
export interface ResponseScreening extends Pick<GatewayOptions, 'guard'> {
  readonly tools: ToolList;
}

const LISTS = ['prompts', 'resources', 'resourceTemplates'] as const;

/** A response of the server as it may be shown; the same object where nothing changes. */
export async function screenResponse(
  screening: ResponseScreening,
  raw: JsonObject,
  asked: Asked | undefined,
): Promise<JsonObject> {
  const id = (raw.id ?? null) as MessageId | null;
  if (raw.error === undefined) {
    const { value, enforcement } = await shownResult(screening, raw.result, asked);
    if (enforcement !== undefined) return refusal(id, enforcement, asked, raw.result);
    return value === raw.result ? raw : { ...raw, result: value };
  }
  const { value, enforcement } = await screenValue(screening.guard, 'tool_result', raw.error, asked?.call ?? {});
  if (enforcement === undefined) return value === raw.error ? raw : { ...raw, error: value };
  const code = isObject(raw.error) && typeof raw.error.code === 'number' ? raw.error.code : REFUSED;
  return errorResponse(id, code, enforcement.note);
}

/** A result as it may be shown: lists without what is blocked, the rest whole or not at all. */
async function shownResult(screening: ResponseScreening, result: unknown, asked: Asked | undefined): Promise<Screened> {
  const { guard } = screening;
  const call = asked?.call ?? {};
  const point = choosePoint(asked?.method);
  if (!isObject(result)) return screenValue(guard, point, result, call);
  const lists = await shownLists(screening, result, asked);
  // An opaque token that goes back to the server.
  const isApart = (name: string): boolean =>
    Object.hasOwn(lists, name) || (name === 'nextCursor' && typeof result.nextCursor === 'string');
  const rest = Object.fromEntries(Object.entries(result).filter(([name]) => !isApart(name)));
  const screened = await screenValue(guard, point, rest, call);
  if (screened.enforcement !== undefined) return screened;
  if (screened.value === rest && Object.entries(lists).every(([name, shown]) => shown === result[name]))
    return { value: result };
  const shown: JsonObject = { ...result, ...(screened.value as JsonObject), ...lists };
  return { value: Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) };
}

/** The lists of a result and its instructions, each as it may be shown; undefined for instructions that may not. */
async function shownLists(
  { guard, tools }: ResponseScreening,
  result: JsonObject,
  asked: Asked | undefined,
): Promise<JsonObject> {
  const shown: Record<string, unknown> = {};
  const keep = (name: string, kept: readonly unknown[]): void => {
    const list = result[name] as readonly unknown[];
    shown[name] = kept.length === list.length ? list : kept;
  };
  if (Array.isArray(result.tools)) keep('tools', await tools.show(result.tools, asked, result.nextCursor));
  for (const name of LISTS) {
    const items = result[name];
    if (!Array.isArray(items)) continue;
    const kept = await screenEach(items, async (item) =>
      passes(await screenDefinition(guard, item, asked?.call)) ? [item] : [],
    );
    keep(name, kept.flat());
  }
  if (typeof result.instructions === 'string')
    shown.instructions = (await guard.screen('document', result.instructions, asked?.call)).value;
  return shown;
}

function choosePoint(method: string | undefined): Extract<Point, 'document' | 'tool_result'> {
  return method === undefined || method.startsWith('tools/') || method.startsWith('tasks/')
    ? 'tool_result'
    : 'document';
}
