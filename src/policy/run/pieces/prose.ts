/** Reads the prose of values and inputs: their strings, without the signs of JSON. */
import { type Input, JsonText } from '../../../engine/input.js';
import { isContainer, MAX_DEPTH } from '../../redact.js';

/**
 * The sentences that a value of plain objects and lists says, in its order: the strings that are more than an identifier, or its
 * only one. JSON in a string is read.
 */
export function proseOf(value: unknown): readonly string[] {
  const strings: string[] = [];
  const walk = (given: unknown, depth: number): void => {
    const member = given instanceof JsonText ? given.toJSON() : parsedJson(given);
    if (typeof member === 'string') strings.push(member);
    else if (isContainer(member) && depth <= MAX_DEPTH)
      for (const inner of Object.values(member)) walk(inner, depth + 1);
  };
  walk(value, 0);
  return strings.length === 1 ? strings : strings.filter((text) => /\s\S+\s/.test(text));
}

/** The value of a text that is an object or a list of JSON; the given value where it is none. */
export function parsedJson(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text of an input without the escapes of JSON, of the same length, so that offsets stay. */
export function plainText(input: Input): string {
  if (!(input instanceof JsonText)) return String(input);
  return input.text.replace(/\\(?:u[\da-f]{4}|.)/g, (escaped) =>
    escaped === '\\\\' ? '\\\u200b' : ' '.repeat(escaped.length),
  );
}
