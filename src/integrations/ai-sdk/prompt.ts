import { type Enforcement, type Guard, newestTurn, passes, type ScreenCall } from '../../policy/index.js';
import { showContent } from '../content.js';

interface Part {
  readonly type: string;
  readonly [name: string]: unknown;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly Part[];
}

/** A prompt as the model may see it; `refusal` where it may not be called at all. */
export interface ScreenedPrompt {
  readonly prompt: readonly unknown[];
  readonly refusal: Enforcement | undefined;
}

/** What the model itself wrote. */
const OWN_PARTS: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool-call', 'tool-approval-request']);

/**
 * Screens a prompt of the AI SDK's model specification, 3 or 4: all but what the operator and the model wrote. What was
 * refused in an earlier turn becomes the note.
 */
export async function screenMessages(
  guard: Guard,
  prompt: readonly unknown[],
  call: ScreenCall,
): Promise<ScreenedPrompt> {
  const given = prompt as readonly Message[];
  const newest = newestTurn(given, ({ role }) => role === 'user');
  let refusal: Enforcement | undefined;
  const messages = await Promise.all(
    given.map(async (message, index) => {
      const { role, content } = message;
      if (role === 'system') return message;
      const at = { ...call, isPast: index < newest };
      if (role === 'user') {
        const shown = await showContent(guard, 'user', content, at);
        if (shown.ends) refusal ??= shown.enforcement;
        return shown.content === content ? message : { ...message, content: shown.content };
      }
      if (typeof content === 'string') return message;
      const parts = await Promise.all(content.map((part) => screenPart(role, part, at)));
      return parts.every((part, at) => part === content[at]) ? message : { ...message, content: parts };
    }),
  );
  return { prompt: messages, refusal };

  async function screenPart(role: string, part: Part, at: ScreenCall): Promise<unknown> {
    if (role === 'assistant' && OWN_PARTS.has(part.type)) return part;
    if (part.type !== 'tool-result') {
      const document = await guard.screen(role === 'assistant' ? 'document' : 'tool_result', part, at);
      return passes(document) ? document.value : { type: 'text', text: document.enforcement.note };
    }
    const { output, toolName } = part;
    const shown = await screenOutput(guard, output, { ...at, tool: String(toolName) });
    if (shown.enforcement?.action === 'stop') refusal ??= shown.enforcement;
    return shown.output === output ? part : { ...part, output: shown.output };
  }
}

/** A tool's output as the model may see it: a blocked one becomes an error whose text is the note. */
export async function screenOutput(
  guard: Guard,
  output: unknown,
  call: ScreenCall,
): Promise<{ readonly output: unknown; readonly enforcement?: Enforcement }> {
  const { type, value, ...others } = output as Part;
  // The value as the tool returned it, where there is nothing else: it was screened then.
  const isBare = value !== undefined && Object.keys(others).every((name) => name === 'providerOptions');
  const decision = await guard.screen('tool_result', isBare ? value : output, call);
  if (!passes(decision)) {
    const { enforcement } = decision;
    return { output: { type: 'error-text', value: enforcement.note }, enforcement };
  }
  if (!isBare) return { output: decision.value };
  return { output: decision.value === value ? output : { ...(output as Part), value: decision.value } };
}
