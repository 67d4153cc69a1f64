import { type Enforcement, type Guard, passes, type ScreenCall } from '../../policy/index.js';
import { type TextPart as Part, screenTexts } from '../texts.js';

interface Message {
  readonly role: string;
  readonly content: string | readonly Part[];
}

/** A prompt as the model may see it; `refusal` where it may not be called at all. */
export interface ScreenedPrompt {
  readonly prompt: readonly unknown[];
  readonly refusal: Enforcement | undefined;
}

/** Screens the user texts, text files and tool results of a prompt of the AI SDK's model specification, 3 or 4. */
export async function screenMessages(
  guard: Guard,
  prompt: readonly unknown[],
  call: ScreenCall,
): Promise<ScreenedPrompt> {
  let refusal: Enforcement | undefined;
  const messages = await Promise.all(
    (prompt as readonly Message[]).map(async (message) => {
      if (typeof message.content === 'string' || message.role === 'system') return message;
      const withTexts =
        message.role === 'user' ? await screenTexts(message.content, ['text'], screenUser) : message.content;
      const content = await Promise.all(withTexts.map((part) => screenPart(part)));
      return content.every((part, index) => part === (message.content as readonly Part[])[index]) &&
        content.length === message.content.length
        ? message
        : { ...message, content };
    }),
  );
  return { prompt: messages, refusal };

  async function screenUser(text: string): Promise<string> {
    const decision = await guard.screen('user', text, call);
    if (passes(decision)) return decision.value;
    refusal ??= decision.enforcement;
    return decision.enforcement.note;
  }

  async function screenPart(part: Part): Promise<Part> {
    if (part.type === 'file') return screenFile(part);
    if (part.type !== 'tool-result') return part;
    const output = part.output as Part;
    const tool = String(part.toolName);
    if (output.type === 'content' && Array.isArray(output.value)) {
      let note: string | undefined;
      const value = await screenTexts(output.value, ['text'], async (text) => {
        const shown = await screenResult(text, tool);
        if ('note' in shown) note = shown.note;
        return 'note' in shown ? shown.note : shown.value;
      });
      if (note !== undefined) return { ...part, output: { type: 'error-text', value: note } };
      return value === output.value ? part : { ...part, output: { ...output, value } };
    }
    if (!('value' in output)) return part;
    const shown = await screenResult(output.value, tool);
    if ('note' in shown) return { ...part, output: { type: 'error-text', value: shown.note } };
    return shown.value === output.value ? part : { ...part, output: { ...output, value: shown.value } };
  }

  async function screenResult<T>(value: T, tool: string): Promise<{ readonly value: T } | { readonly note: string }> {
    const decision = await guard.screen('tool_result', value, { ...call, tool });
    if (passes(decision)) return { value: decision.value };
    if (decision.action === 'stop') refusal ??= decision.enforcement;
    return { note: decision.enforcement.note };
  }

  async function screenFile(part: Part): Promise<Part> {
    const text = fileText(part);
    if (text === undefined) return part;
    const decision = await guard.screen('document', text, call);
    if (passes(decision) && decision.value === text) return part;
    return { type: 'text', text: passes(decision) ? decision.value : decision.enforcement.note };
  }
}

/** The text of a file part; undefined if it isn't text or is only referenced. */
function fileText({ mediaType, data }: Part): string | undefined {
  if (typeof mediaType !== 'string' || !/^(text\/|application\/(json|xml|[\w.-]+\+(json|xml))\b)/i.test(mediaType)) {
    return undefined;
  }
  const inner = typeof data === 'object' && data !== null && 'type' in data ? (data as Part) : { type: 'data', data };
  if (inner.type === 'text' && typeof inner.text === 'string') return inner.text;
  if (inner.type !== 'data') return undefined;
  if (inner.data instanceof Uint8Array) return new TextDecoder().decode(inner.data);
  return typeof inner.data === 'string' ? Buffer.from(inner.data, 'base64').toString('utf8') : undefined;
}
