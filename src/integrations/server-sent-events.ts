/** One event of a stream. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export interface ServerSentEvent {
  /** Its other lines as they were written: event, id, retry, comments. */
  readonly fields: readonly string[];
  /** The lines of its data joined; undefined where it has none. */
  readonly data: string | undefined;
}

/**
 * Reads the events of a stream, each once it is complete; what follows the last complete one is left out, as the standard says.
 *
 * @throws RangeError for an event of more than `maxBytes`
 */
export async function* readEvents(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  const fields: string[] = [];
  let data: string[] | undefined;
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
      const line = rest;
      rest = next;
      if (line !== '') {
        const value = readData(line);
        if (value === undefined) fields.push(line);
        else {
          data ??= [];
          data.push(value);
        }
      } else {
        if (fields.length > 0 || data !== undefined) yield { fields: fields.splice(0), data: data?.join('\n') };
        data = undefined;
        size = 0;
      }
    }
  }
}

function readData(line: string): string | undefined {
  if (line === 'data') return '';
  if (!line.startsWith('data:')) return undefined;
  return line.startsWith(' ', 5) ? line.slice(6) : line.slice(5);
}

/** An event as it is written. */
export function writeEvent(fields: readonly string[], data: string | undefined): string {
  const lines = data === undefined ? [] : data.split(/\r\n|\n|\r/).map((line) => `data: ${line}`);
  return fields.length + lines.length === 0 ? '' : `${[...fields, ...lines].join('\n')}\n\n`;
}

/** A response of server-sent events. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function eventStream(events: readonly { readonly event?: string; readonly data?: unknown }[]): Response {
  const lines = events.map(({ event, data }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
  });
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
}
