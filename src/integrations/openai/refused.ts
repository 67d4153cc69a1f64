/** Responses that refuse a call, in the words of the API. */
import type { Enforcement } from '../../policy/index.js';
import type { JsonObject } from '../json-value.js';
import { badRequest } from '../model-response.js';
import { eventStream } from '../server-sent-events.js';

export function refusedRequest(message: string, evidenceId?: string): Response {
  const [type, code, param] = ['portcullis_blocked', 'portcullis_blocked', null];
  return badRequest({ error: { message, type, code, param, evidence_id: evidenceId } });
}

export interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
}

const FINISH = 'content_filter';

/** A response of Chat Completions that is the note. */
export function refusedChat(refusal: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const { note, evidenceId } = refusal;
  const base = { id: evidenceId, created: Math.floor(Date.now() / 1000), model };
  if (stream) return eventStream(chatNote(refusal, { ...base, object: 'chat.completion.chunk' }, [0]));
  const message = { role: 'assistant', content: note, refusal: note };
  const choices = [{ index: 0, message, finish_reason: FINISH, logprobs: null }];
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return Response.json({ ...base, object: 'chat.completion', choices, usage });
}

/** The events that end each of these choices of Chat Completions with the note. `base`: the other members of a chunk. */
export function chatNote(
  { note }: Enforcement,
  base: object,
  choices: readonly unknown[],
): readonly { readonly data: unknown }[] {
  const chunk = (delta: object, finish_reason: string | null): { readonly data: object } => ({
    data: { ...base, choices: choices.map((index) => ({ index, delta, finish_reason })) },
  });
  return [chunk({ role: 'assistant', content: note }, null), chunk({}, FINISH), { data: '[DONE]' }];
}

/** A response of the Responses API that is the note. */
export function refusedResponse(refusal: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const response = {
    id: `resp_${refusal.evidenceId}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    error: null,
    model,
    output: [],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    usage: null,
  };
  const ending = responseNote(refusal, response, []);
  if (!stream) return Response.json(ending.at(-1)?.response);
  const events = [{ type: 'response.created', response }, ...ending];
  return eventStream(events.map((event, index) => ({ event: event.type, data: { ...event, sequence_number: index } })));
}

/** The events that end a response with the note, after the items that it has shown. */
export function responseNote(
  { note, evidenceId }: Enforcement,
  response: JsonObject,
  shown: readonly unknown[],
): readonly (JsonObject & { readonly type: string })[] {
  const part = { type: 'output_text', text: note, annotations: [], logprobs: [] };
  const item = { id: `msg_${evidenceId}`, type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const output_index = shown.length;
  const place = { item_id: item.id, output_index, content_index: 0 };
  const ended = {
    ...response,
    status: 'incomplete',
    incomplete_details: { reason: FINISH },
    output: [...shown, item],
    metadata: { ...(response.metadata as object), portcullis_evidence_id: evidenceId },
  };
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: note, logprobs: [] },
    { type: 'response.output_text.done', ...place, text: note, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index, item },
    { type: 'response.incomplete', response: ended },
  ];
}
