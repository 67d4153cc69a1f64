import type { ShownEvents } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import { showChat } from './chat-stream.js';
import { showResponses } from './response-stream.js';

/** Shows the events of an answer, of Responses if the first that says so is; gateways add events of their own to either. */
export function showStream(screening: CallScreening): ShownEvents {
  const responses = showResponses(screening);
  let shown = showChat(screening);
  let isKnown = false;
  return {
    follow(event, data) {
      if (!isKnown) {
        const isResponses = typeof data?.type === 'string' && data.type.startsWith('response.');
        if (isResponses) shown = responses;
        isKnown = isResponses || data?.choices !== undefined;
      }
      return shown.follow(event, data);
    },
    isOpen: () => shown.isOpen(),
    show: (event) => shown.show(event),
    rest: () => shown.rest(),
    refuse: (refusal) => shown.refuse(refusal),
  };
}
