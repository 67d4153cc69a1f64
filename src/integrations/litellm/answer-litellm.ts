/** The generic guardrail API of LiteLLM: what its proxy sends, and what to say. @see https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api */
import { newestTurns, taskOf } from '../../engine/input.js';
import type { Guard, Point } from '../../policy/index.js';
import { callsOf, pointOfBlock } from '../content-blocks.js';
import { isObject, type JsonObject } from '../json-value.js';

interface LiteLlmMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly name?: unknown;
  readonly tool_call_id?: unknown;
}

/** A call of LiteLLM; what isn't named is not read. */
export interface LiteLlmCall {
  readonly input_type: 'request' | 'response';
  readonly texts?: readonly string[] | null | undefined;
  readonly structured_messages?: readonly LiteLlmMessage[] | null | undefined;
  readonly tools?: readonly unknown[] | null | undefined;
  readonly tool_calls?: readonly unknown[] | null | undefined;
  readonly litellm_trace_id?: string | null | undefined;
  readonly litellm_call_id?: string | null | undefined;
}

/** Next step of LiteLLM. A blocked call ends as HTTP 400 with the reason. */
export interface LiteLlmAnswer {
  readonly action: 'NONE' | 'BLOCKED';
  readonly blocked_reason?: string;
}

/** Texts of one call that are screened one by one; the oldest beyond them are screened as one. */
const MAX_TEXTS = 100;

interface Item {
  /** `operator`: what is trusted without being screened. */
  readonly point: Point | 'operator';
  readonly value: unknown;
  /** The user's newest turns before it. */
  readonly task: string | undefined;
  /** The tool whose result it is, where the call stands in the conversation. */
  readonly tool?: string | undefined;
}

/**
 * Screens what a model is about to read, or what came back: users' messages, results of tools, definitions, calls. What
 * the model and the operator wrote earlier (`assistant`, `system`, `developer`) passes. A text without a role is a user's in a
 * request, and a tool's in a response, where an MCP server's results are too.
 */
export async function answerLiteLlm(guard: Guard, call: LiteLlmCall): Promise<LiteLlmAnswer> {
  const run = guard.run({ id: runOf(call) });
  const isRequest = call.input_type === 'request';
  for (const { point, value, task, tool } of bounded(listItems(call))) {
    if (point === 'operator') {
      for (const text of listStrings(value)) run.trust(text);
      continue;
    }
    // The calls of a request were made before its results were read; a text of a response is the model's or a tool's,
    // which isn't said. Neither says anything of the run.
    const isOutside = point === (isRequest ? 'tool_call' : 'tool_result');
    const decision = await (isOutside
      ? guard.screen(point, value, { task, tool })
      : run.screen(point, value, { tool }));
    if (decision.action !== 'allow' && decision.action !== 'report')
      return { action: 'BLOCKED', blocked_reason: decision.enforcement.note };
  }
  return { action: 'NONE' };
}

export function runOf({ litellm_trace_id, litellm_call_id }: LiteLlmCall): string | undefined {
  return litellm_trace_id ?? litellm_call_id ?? undefined;
}

const ROLES: Readonly<Record<string, Point | undefined>> = {
  user: 'user',
  tool: 'tool_result',
  function: 'tool_result',
};
const TRUSTED: ReadonlySet<string> = new Set(['assistant', 'system', 'developer']);

function listItems({ input_type, texts, structured_messages, tools, tool_calls }: LiteLlmCall): readonly Item[] {
  const items: Item[] = [];
  /** Texts whose role is known, so that the bare list needn't tell of them. */
  const placed = new Set<string>();
  /** The tools of calls, by the id that a result repeats. */
  const called = new Map<unknown, string>();
  let turns: readonly string[] = [];
  let task: string | undefined;
  for (const message of structured_messages ?? []) {
    const { role, content, tool_call_id, name = called.get(tool_call_id) } = message;
    for (const { id, call } of callsOf(message)) called.set(id, call.name);
    for (const text of listStrings(content)) placed.add(text);
    const isTrusted = TRUSTED.has(role.toLowerCase()) && input_type === 'request';
    if (isTrusted) {
      if (role.toLowerCase() !== 'assistant') items.push({ point: 'operator', value: content, task });
      continue;
    }
    const point = ROLES[role.toLowerCase()] ?? 'tool_result';
    const [said, results] = point === 'user' ? divide(content) : [content, []];
    for (const result of results)
      items.push({
        ...{ point: 'tool_result', value: result.content ?? result, task },
        tool: called.get(result.tool_use_id),
      });
    const tool = point === 'tool_result' && typeof name === 'string' ? name : undefined;
    items.push({ point, value: said, task, tool });
    if (point !== 'user') continue;
    turns = newestTurns([...turns, readUserText(said)]);
    task = taskOf(turns);
  }
  const point = input_type === 'request' ? 'user' : 'tool_result';
  for (const text of texts ?? []) if (!placed.has(text)) items.push({ point, value: text, task });
  for (const tool of tools ?? []) items.push({ point: 'tool_definition', value: tool, task });
  for (const one of tool_calls ?? []) items.push({ point: 'tool_call', value: calledTool(one), task });
  const seen = new Set<string>();
  return items.filter(({ point, value }) => {
    if (value === '' || value === null || value === undefined) return false;
    if (typeof value !== 'string') return true;
    const name = `${point} ${value}`;
    return seen.has(name) ? false : seen.add(name);
  });
}

/** The newest one by one, those before them as one text a point: a call costs a bounded number of screenings. */
function bounded(items: readonly Item[]): readonly Item[] {
  if (items.length <= MAX_TEXTS) return items;
  const oldest = items.slice(0, -MAX_TEXTS);
  const joined = [...new Set(oldest.map(({ point }) => point))].map((point): Item => {
    const some = oldest.filter((item) => item.point === point);
    const values = some.map(({ value }) => value);
    const isText = values.every((value) => typeof value === 'string');
    return { point, value: isText ? values.join('\n\n') : values, task: some.at(-1)?.task };
  });
  return [...joined, ...items.slice(-MAX_TEXTS)];
}

/** Divides a message into the user's words and the results that Anthropic has in the same message. */
function divide(content: unknown): readonly [said: unknown, results: readonly JsonObject[]] {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const results = blocks.filter(isObject).filter((block) => pointOfBlock(block) === 'tool_result');
  if (results.length === 0) return [content, results];
  const said = blocks.filter((block) => !results.includes(block as JsonObject));
  return [said.length === 0 ? undefined : said, results];
}

function listStrings(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return typeof content === 'object' && content !== null ? Object.values(content).flatMap(listStrings) : [];
}

/** Returns the text that a user wrote in a message: its string, or the texts of its parts. */
function readUserText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const texts = parts.map((part) => (part as { readonly text?: unknown } | null)?.text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

/** A call as the engine reads it; one of another shape is screened as it is. */
function calledTool(call: unknown): unknown {
  const { function: called } = (typeof call === 'object' && call !== null ? call : {}) as { function?: unknown };
  if (typeof called !== 'object' || called === null) return call;
  const { name, arguments: args } = called as Readonly<Record<string, unknown>>;
  return { name: String(name ?? ''), arguments: args ?? null };
}
