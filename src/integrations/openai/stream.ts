import type { ShownEvents } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import { showChat } from './chat-stream.js';
import { showResponses } from './response-stream.js';

/** Shows the events of an answer, of Chat Completions until one says that it is of Responses. */
export function showStream(screening: CallScreening): ShownEvents {
  const responses = showResponses(screening);
  let shown = showChat(screening);
  return {
    follow(event, data) {
      if (typeof data?.type === 'string' && data.choices === undefined) shown = responses;
      return shown.follow(event, data);
    },
    isOpen: () => shown.isOpen(),
    show: (event) => shown.show(event),
    rest: () => shown.rest(),
    refuse: (refusal) => shown.refuse(refusal),
  };
}
