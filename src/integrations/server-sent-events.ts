/** One event of a stream. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export interface ServerSentEvent {
  /** Its type; undefined for `message`. */
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  /** Milliseconds until a client reconnects. */
  readonly retry?: string | undefined;
  /** The lines of its data joined; undefined where it has none. */
  readonly data?: string | undefined;
}

/**
 * Reads the events of a stream, each once it is complete; what follows the last complete one is left out, as the standard says.
 * Comments and unknown fields are left out as well: a block of them alone is an event without fields.
 *
 * @throws RangeError for an event of more than `maxBytes`
 */
export async function* readEvents(
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
  decoder: InstanceType<typeof TextDecoder> = new TextDecoder(),
): AsyncGenerator<ServerSentEvent> {
  let lines: string[] = [];
  let rest = '';
  let size = 0;
  let afterReturn = false;
  for await (const chunk of stream) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // The second half of a line break whose first half ended the last chunk.
    if (afterReturn && text.startsWith('\n')) text = text.slice(1);
    afterReturn = text.endsWith('\r');
    const [first = '', ...others] = text.split(/\r\n|\n|\r/);
    rest += first;
    size += text.length;
    if (size > maxBytes) throw new RangeError(`an event of more than ${maxBytes} bytes; see --max-message-bytes`);
    for (const next of others) {
      if (rest !== '') lines.push(rest);
      else {
        if (lines.length > 0) yield readEvent(lines);
        lines = [];
        size = 0;
      }
      rest = next;
    }
  }
}

function readEvent(lines: readonly string[]): ServerSentEvent {
  const event: { -readonly [Name in keyof ServerSentEvent]: ServerSentEvent[Name] } = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`;
    else if (name === 'event' || name === 'id' || name === 'retry') event[name] = value;
  }
  return event;
}

/** An event as it is written; one without fields is an empty comment, which keeps a connection open. */
export function writeEvent(event: ServerSentEvent): string {
  const lines = (['event', 'id', 'retry', 'data'] as const).flatMap((name) =>
    event[name] === undefined ? [] : event[name].split(/\r\n|\n|\r/).map((line) => `${name}: ${line}\n`),
  );
  return `${lines.length === 0 ? ':\n' : lines.join('')}\n`;
}

/** A response of server-sent events. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function eventStream(events: readonly { readonly event?: string; readonly data: unknown }[]): Response {
  const lines = events.map(({ event, data }) =>
    writeEvent({ event, data: typeof data === 'string' ? data : JSON.stringify(data) }),
  );
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
}
