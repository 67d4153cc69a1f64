/** Shows the responses of a model over HTTP, in one piece or in events. */
import { ReadableStream } from 'node:stream/web';
import type { Enforcement } from '../policy/index.js';
import { readStream } from '../policy/read-stream.js';
import { isObject, type JsonObject, parsedJson } from './json-value.js';
import type { CallScreening } from './screened-call.js';
import { readEvents, type ServerSentEvent, writeEvent } from './server-sent-events.js';

/** Follows the calls of tools in the events of a response. */
export interface StreamedCalls {
  /** Takes note of the next event, and returns the parts of an answer that are whole by it, with the calls in them. */
  follow(event: ServerSentEvent, data: JsonObject | undefined): readonly unknown[];
  /** Whether a call has begun that isn't to be handed on yet. */
  isOpen(): boolean;
}

export interface ShownEvents extends StreamedCalls {
  show(event: ServerSentEvent): Promise<readonly ServerSentEvent[]>;
  /** Events to add where the response breaks off. */
  rest(): Promise<readonly ServerSentEvent[]>;
  /** Events that end the response with the note, in place of a call. */
  refuse(refusal: Enforcement): readonly ServerSentEvent[];
}

/** Characters of the events that are held back for a call. */
const MAX_HELD = 16_777_216;

/**
 * A response without ways out, each event once it has come; `refused` where a call in it may not be made. In events calls are
 * held back until all may be made, with what comes after them. A failed response passes as it is, and so does one of another
 * media type, unless the request asked for a stream: clients read that as events, whatever it is called. Events in AWS's own
 * format pass, too.
 */
export async function showResponse(
  screening: CallScreening,
  response: Response,
  events: ShownEvents,
  refused: (refusal: Enforcement) => Response,
  asked: JsonObject,
): Promise<Response> {
  const { ok, status, statusText } = response;
  const mediaType = response.headers.get('content-type') ?? '';
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const isStream = asked.stream === true;
  const answer = ok && /^[^;]*[/+]json\b/i.test(mediaType) ? parsedJson(await response.clone().text()) : undefined;
  if (answer !== undefined && (isObject(answer) || !isStream)) {
    const refusal = await screening.refuseCall(answer);
    if (refusal !== undefined) return refused(refusal);
    const shown = await screening.answer(answer);
    return shown === answer ? response : Response.json(shown, { status, headers });
  }
  const isRead = isStream ? !/^application\/vnd\.amazon\./i.test(mediaType) : /^text\/event-stream\b/i.test(mediaType);
  const { body } = response;
  if (!ok || body === null || !isRead) return response;
  return new Response(shownBody(screening, body as never, events) as never, { status, statusText, headers });
}

/** The body of a response in events. Whoever cancels it ends its source at once, also while an event is awaited. */
function shownBody(
  screening: CallScreening,
  body: ReadableStream<Buffer>,
  events: ShownEvents,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const source = readStream(body);
  const shown = showEvents(screening, { [Symbol.asyncIterator]: () => source }, events);
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await shown.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(writeEvent(value)));
      },
      async cancel() {
        await source.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function* showEvents(
  screening: CallScreening,
  source: AsyncIterable<Buffer>,
  { show, rest, follow, isOpen, refuse }: ShownEvents,
): AsyncGenerator<ServerSentEvent> {
  let held: ServerSentEvent[] = [];
  let size = 0;
  for await (const event of readEvents(source, Number.POSITIVE_INFINITY)) {
    const data = eventData(event);
    for (const part of follow(event, data)) {
      const refusal = await screening.refuseCall(part);
      if (refusal === undefined) continue;
      yield* await rest();
      yield* refuse(refusal);
      return;
    }
    if (keepsOpen(event, data)) yield* await show(event);
    else if (isOpen() && !breaksOff(event, data)) {
      held.push(event);
      size += event.data?.length ?? 0;
      if (size > MAX_HELD) throw new RangeError(`a call of a tool takes more than ${MAX_HELD} characters of a stream`);
    } else {
      // A call that the response breaks off isn't handed on.
      const passed = isOpen() ? [event] : [...held, event];
      [held, size] = [[], 0];
      for (const each of passed) yield* await show(each);
    }
  }
  yield* await rest();
}

/** Whether an event says nothing, and keeps the connection open. */
function keepsOpen(event: ServerSentEvent, data: JsonObject | undefined): boolean {
  return event.data === undefined || data?.type === 'ping' || data?.type === 'keepalive';
}

/** Whether the response fails with an event. */
function breaksOff({ event }: ServerSentEvent, { error, type }: JsonObject = {}): boolean {
  return event === 'error' || Boolean(error) || type === 'error' || type === 'response.failed';
}

/** A response that refuses a request, which no client sends again. */
export function badRequest(error: object): Response {
  return Response.json(error, { status: 400, headers: { 'x-should-retry': 'false' } });
}

/** The data of an event as an object; undefined for any other. */
export function eventData({ data }: ServerSentEvent): Readonly<Record<string, unknown>> | undefined {
  const read = parsedJson(data);
  return isObject(read) ? read : undefined;
}
