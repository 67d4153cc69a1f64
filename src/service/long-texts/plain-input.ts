import { JsonText } from '../../engine/input.js';

/** An input on its way between threads, which a class does not survive. `isToolCall`: undefined for a string. */
export interface PlainInput {
  readonly text: string;
  readonly isToolCall?: boolean | undefined;
}

export function toPlain(input: string | JsonText): PlainInput {
  return typeof input === 'string' ? { text: input } : { text: input.text, isToolCall: input.isToolCall };
}

export function fromPlain({ text, isToolCall }: PlainInput): string | JsonText {
  return isToolCall === undefined ? text : new JsonText(text, isToolCall);
}
