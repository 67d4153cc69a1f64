/** Responses that refuse a call, in the words of the API. */
import type { Enforcement } from '../../policy/index.js';
import type { JsonObject } from '../json-value.js';
import { eventStream } from '../server-sent-events.js';

export interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
}

/** A message that is the note. */
export function refused(refusal: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const message = {
    id: refusal.evidenceId,
    type: 'message',
    role: 'assistant',
    model,
    content: [] as object[],
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  const content = [{ type: 'text', text: refusal.note }];
  if (!stream) return Response.json({ ...message, content, stop_reason: 'refusal' });
  const events = [
    { type: 'message_start', message: { ...message, stop_reason: null } },
    ...messageNote(refusal, 0, message.usage),
  ];
  return eventStream(events.map((event) => ({ event: event.type, data: event })));
}

/** The events that end a message with the note as its block at an index. */
export function messageNote(
  { note }: Enforcement,
  index: number,
  usage: unknown = { output_tokens: 0 },
): readonly (JsonObject & { readonly type: string })[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text: note } },
    { type: 'content_block_stop', index },
    { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}
