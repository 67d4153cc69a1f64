/** Shows the responses of a model over HTTP, in one piece or in events. */
import { ReadableStream } from 'node:stream/web';
import type { Enforcement } from '../policy/index.js';
import { isObject, parsedJson } from './json-value.js';
import type { CallScreening } from './screened-call.js';
import { readEvents, type ServerSentEvent, writeEvent } from './server-sent-events.js';

/** How the events of a response are shown. */
export interface ShownEvents {
  show(event: ServerSentEvent): Promise<readonly ServerSentEvent[]>;
  /** Events to add where the response breaks off. */
  rest(): Promise<readonly ServerSentEvent[]>;
}

/**
 * A response without ways out, each event once it has come; `refused` where a call in it may not be made. Calls in events aren't
 * checked. A failed response, and one of another media type, passes as it is.
 */
export async function showResponse(
  screening: CallScreening,
  response: Response,
  events: ShownEvents,
  refused: (refusal: Enforcement) => Response,
): Promise<Response> {
  const { ok, body, status, statusText } = response;
  const mediaType = response.headers.get('content-type') ?? '';
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  if (ok && /^[^;]*[/+]json\b/i.test(mediaType)) {
    const answer = parsedJson(await response.clone().text());
    const refusal = await screening.refuseCall(answer);
    if (refusal !== undefined) return refused(refusal);
    const shown = await screening.answer(answer);
    return shown === answer ? response : Response.json(shown, { status, headers });
  }
  if (!ok || body === null || !/^text\/event-stream\b/i.test(mediaType)) return response;
  return new Response(ReadableStream.from(lines(body, events)) as never, { status, statusText, headers });
}

async function* lines(body: NonNullable<Response['body']>, { show, rest }: ShownEvents): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const event of readEvents(body as unknown as AsyncIterable<Buffer>, Number.POSITIVE_INFINITY))
    for (const shown of await show(event)) yield encoder.encode(writeEvent(shown));
  for (const shown of await rest()) yield encoder.encode(writeEvent(shown));
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
