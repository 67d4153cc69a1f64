import { canonicalJson, type JsonValue } from './canonical-json.js';
import { jsonPathAt } from './json-path.js';
import type { Channel } from './rules/types.js';
import type { Span } from './span.js';

/** A call that an agent is about to make. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonValue;
}

/** A string is screened as it is; anything else as its canonical JSON text. */
export type Input = string | ToolCall | JsonValue;

/** The text to screen with its channel (a tool call's default is `tool_call`, any other input's `user`), and how to say where in a structured input a span lies. */
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
  return typeof input === 'string' ? input : canonicalJson(input);
}

/** Reads an input for a channel. @throws InputError where the input has no JSON text */
export function readInput(input: Input, channel?: Channel): Subjected {
  const text = inputText(input);
  if (typeof input === 'string') return { text, channel: channel ?? 'user', pathOf: () => undefined };
  return {
    text,
    channel: channel ?? (isToolCall(input) ? 'tool_call' : 'user'),
    pathOf: (span) => jsonPathAt(text, span.start),
  };
}

function isToolCall(input: Exclude<Input, string>): input is ToolCall {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false;
  return 'arguments' in input && 'name' in input && typeof input.name === 'string';
}
