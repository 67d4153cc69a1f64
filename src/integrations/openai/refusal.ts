import type { Enforcement } from '../../policy/index.js';
import { eventStream } from '../event-stream.js';

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
}

/** A response of Chat Completions that is the note. */
export function refusedChat({ note, evidenceId }: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const base = { id: evidenceId, created: Math.floor(Date.now() / 1000), model };
  const finish = 'content_filter';
  if (!stream) {
    const message = { role: 'assistant', content: note, refusal: note };
    const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    return Response.json({ ...base, object: 'chat.completion', choices, usage });
  }
  const chunk = (delta: object, reason: string | null): object => ({
    data: { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] },
  });
  return eventStream([chunk({ role: 'assistant', content: note }, null), chunk({}, finish), { data: '[DONE]' }]);
}

/** A response of the Responses API that is the note. */
export function refusedResponse({ note, evidenceId }: Enforcement, { model = 'portcullis', stream }: Asked): Response {
  const part = { type: 'output_text', text: note, annotations: [], logprobs: [] };
  const item = { id: `msg_${evidenceId}`, type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const response = {
    id: `resp_${evidenceId}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    error: null,
    model,
    output: [item],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    metadata: { portcullis_evidence_id: evidenceId },
    usage: null,
  };
  if (!stream) return Response.json(response);
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: note, logprobs: [] },
    { type: 'response.output_text.done', ...place, text: note, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.incomplete', response },
  ];
  return eventStream(events.map((event, index) => ({ event: event.type, data: { ...event, sequence_number: index } })));
}
