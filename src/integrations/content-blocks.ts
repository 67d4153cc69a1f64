/** The blocks of a message, in the words of any host. */
import type { Point } from '../policy/index.js';
import { isObject, type JsonObject, parsedJson } from './json-value.js';

/** Whether a block is a text that its message's author says. */
export function isText(block: unknown): boolean {
  return !isObject(block) || (typeof block.type === 'string' && /^(\w+_)?text$/.test(block.type));
}

/** Whether a part of an answer holds what the model thinks. */
export function isThought(part: unknown): boolean {
  return isObject(part) && /^(?:reasoning|thinking)\b/.test(String(part.type));
}

/**
 * Whether the provider signed what the model thinks, in a member or in what the host keeps of the provider's. OpenAI reads the encrypted
 * content of a thought alone, and never its summary.
 */
export function isSigned(part: unknown, levels = 2): boolean {
  if (!isObject(part)) return false;
  return Object.entries(part).some(([name, value]) =>
    typeof value === 'string'
      ? value !== '' && /^(?:thought_?)?signature$/i.test(name)
      : levels > 0 && isSigned(value, levels - 1),
  );
}

/** Whether a part of an answer holds what the model says or thinks. */
export function isSaid(part: unknown): boolean {
  return isText(part) || isThought(part);
}

/** Kind of a block of a user's message: words of the user, or a result or document beside them. */
export function pointOfBlock(block: unknown): Point {
  if (!isObject(block) || isText(block)) return 'user';
  return /tool_result$/.test(String(block.type)) ? 'tool_result' : 'document';
}

/** Whether a block is a passage of plain text, which can hold the note; a file in base64 can't. */
export function isPassage(block: unknown): boolean {
  if (!isObject(block) || (block.type !== 'document' && block.type !== 'search_result')) return false;
  return !isObject(block.source) || block.source.type !== 'base64';
}

/** The note as a block of text, in the words of the blocks that stood there. */
export function noteBlock(near: readonly unknown[], note: unknown): unknown {
  const types = near.map((block) => (isObject(block) ? String(block.type) : 'text'));
  return {
    type: types.find((type) => /text$/.test(type)) ?? (/^input_/.test(types[0] ?? '') ? 'input_text' : 'text'),
    text: note,
  };
}

/** A call that the model makes; its result repeats the id. */
export interface ModelCall {
  readonly id: unknown;
  readonly call: { readonly name: string; readonly arguments: unknown };
  /** Whether a result stands before it in the same message, whose values it may repeat. */
  readonly isAfterResult: boolean;
}

/** The calls that an answer, message, item or part of the model makes. */
export function callsOf(message: unknown): readonly ModelCall[] {
  if (!isObject(message)) return [];
  const { content, tool_calls, function_call, choices, output } = message;
  const inside = [...listed(choices).map((choice) => isObject(choice) && choice.message), ...listed(output)];
  const blocks = listed(content).filter(isObject);
  const result = blocks.findIndex(({ type }) => /result$/.test(String(type)));
  const others = [message, function_call, ...listed(tool_calls)].filter(isObject);
  return [
    ...others.flatMap((block) => callOf(block, false)),
    ...blocks.flatMap((block, at) => callOf(block, result >= 0 && at > result)),
    ...inside.flatMap(callsOf),
  ];
}

function callOf(block: JsonObject, isAfterResult: boolean): readonly ModelCall[] {
  const { function: named = block.custom } = block;
  const { type, toolName = type, name = toolName, action, operation, ...said } = isObject(named) ? named : block;
  const given = [said.arguments, said.input, said.args, madeBy(action), operation].find((args) => args !== undefined);
  if (typeof name !== 'string' || given === undefined) return [];
  const id = block.call_id ?? block.callId ?? block.toolCallId ?? block.id;
  return [{ id, call: { name, arguments: parsedJson(given) }, isAfterResult }];
}

/** An action as the model wrote it: without the sources of a search, which are its results. */
function madeBy(action: unknown): unknown {
  if (!isObject(action)) return action;
  const { sources: _, ...made } = action;
  return made;
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
