/** A response of server-sent events. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function eventStream(events: readonly { readonly event?: string; readonly data?: unknown }[]): Response {
  const lines = events.map(({ event, data }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
  });
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
}
