import { canonicalJson, type JsonValue } from './canonical-json.js';
import type { Channel } from './channel.js';
import { jsonPathAt } from './read-json.js';
import { edgeAfter, type Span } from './span.js';

/** A call that an agent is about to make. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonValue;
}

/** A string is screened as it is; anything else as its canonical JSON text. */
export type Input = string | ToolCall | JsonValue | JsonText;

/** The canonical JSON text of an input, so that it isn't written twice and keeps its digits on the way to another process. */
export class JsonText {
  readonly text: string;
  readonly isToolCall: boolean;

  constructor(text: string, isToolCall: boolean) {
    this.text = text;
    this.isToolCall = isToolCall;
  }

  /** The value again, for `JSON.stringify`; numbers that no double holds are rounded. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Writes an input that isn't a string as JSON. @throws InputError where it has no JSON text */
export function toJsonText(input: Exclude<Input, string>): JsonText {
  return input instanceof JsonText ? input : new JsonText(canonicalJson(input), isToolCall(input));
}

/** The text to screen with its channel (a tool call's default is `tool_call`, any other input's `unknown`), and how to say where in a structured input a span lies. */
export interface Subjected {
  readonly text: string;
  readonly channel: Channel;
  /** The JSON path of a span of `text`; undefined for an input that was given as a string. */
  pathOf(span: Span): string | undefined;
}

/**
 * The text that is screened, and that every span points into.
 *
 * @throws InputError where the input has no JSON text
 */
export function inputText(input: Input): string {
  return typeof input === 'string' ? input : toJsonText(input).text;
}

/** UTF-16 code units of a task that count. */
export const TASK_LENGTH = 4_000;

/** The end of a task, as far as it counts; undefined for an empty one. */
export function cropTask(task: string | undefined): string | undefined {
  return task?.slice(edgeAfter(task, task.length - TASK_LENGTH)) || undefined;
}

/** Turns of a user that make a task. */
const TASK_TURNS = 5;

/** The newest turns of a user, oldest first, each once. */
export function newestTurns(turns: readonly string[]): readonly string[] {
  const newestFirst = new Set([...turns].reverse().filter((turn) => turn !== ''));
  return [...newestFirst].slice(0, TASK_TURNS).reverse();
}

/** The task that a user's turns make, oldest first: the newest come last, so that they count where the task is cropped. */
export function taskOf(turns: readonly string[]): string | undefined {
  return cropTask(newestTurns(turns).join('\n'));
}

/** Reads an input for a channel. @throws InputError where the input has no JSON text */
export function readInput(input: Input, channel?: Channel): Subjected {
  if (typeof input === 'string') return { text: input, channel: channel ?? 'unknown', pathOf: () => undefined };
  const { text, isToolCall } = toJsonText(input);
  return {
    text,
    channel: channel ?? (isToolCall ? 'tool_call' : 'unknown'),
    pathOf: (span) => jsonPathAt(text, span.start),
  };
}

function isToolCall(input: Exclude<Input, string | JsonText>): boolean {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false;
  return 'arguments' in input && 'name' in input && typeof input.name === 'string';
}
