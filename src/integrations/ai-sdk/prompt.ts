import { type Point, passes, type Run, type ScreenCall } from '../../policy/index.js';
import { showEach, withMember } from '../json-value.js';
import type { Author, CallScreening } from '../screened-call.js';

interface Part {
  readonly type: string;
  readonly [name: string]: unknown;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly Part[];
}

/** Types of parts that the model itself wrote. */
const OWN_PARTS: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool-call', 'tool-approval-request']);

/** Author of a message by its role; one of any other role is a tool's. */
export const AUTHORS: Readonly<Record<string, Author>> = { system: 'operator', user: 'user', assistant: 'model' };

/**
 * Screens a prompt of the AI SDK's model specification, 3 or 4, or the messages that a tool is given: all but what the operator
 * and the model wrote. What was refused in an earlier turn becomes the note.
 */
export function screenPrompt<M>(
  screening: CallScreening,
  prompt: readonly M[],
  call: ScreenCall = {},
  authors: Readonly<Record<string, Author>> = AUTHORS,
): Promise<readonly M[]> {
  return screening.turns(
    prompt,
    (message) => authors[(message as Message).role] ?? 'tool',
    async (message, at) => (await screenMessage(screening, message as Message, { ...at, ...call })) as M,
  );
}

async function screenMessage(screening: CallScreening, message: Message, at: ScreenCall): Promise<Message> {
  const { role, content } = message;
  const isOwn = role === 'assistant';
  if (role === 'system' || (isOwn && typeof content === 'string')) return message;
  if (role === 'user' || typeof content === 'string')
    return withMember(message, 'content', await screening.content(role === 'user' ? role : 'tool_result', content, at));
  const parts = await showEach(content, async (part) => {
    if (part.type !== 'tool-result') return [part];
    const call = { ...at, tool: String(part.toolName) };
    return [withMember(part, 'output', await screenOutput(screening, part.output, call))];
  });
  const pointOf = ({ type }: Part): Point | undefined => {
    if (type === 'tool-result' || (isOwn && OWN_PARTS.has(type))) return undefined;
    return isOwn ? 'document' : 'tool_result';
  };
  return withMember(message, 'content', await screening.blocks(parts, pointOf, at));
}

/** A tool's output as the model may see it: a blocked one becomes an error whose text is the note. */
export async function screenOutput(by: Pick<Run, 'screen'>, output: unknown, call: ScreenCall): Promise<unknown> {
  const { type, value, ...others } = output as Part;
  // The value as the tool returned it, where there is nothing else: it was screened then.
  const isBare = value !== undefined && Object.keys(others).every((name) => name === 'providerOptions');
  const decision = await by.screen('tool_result', isBare ? value : output, call);
  if (!passes(decision)) return { type: 'error-text', value: decision.enforcement.note };
  return isBare ? withMember(output as Part, 'value', decision.value) : decision.value;
}
