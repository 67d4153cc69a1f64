const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/**
 * The bytes of a CSV file as they are, but each record longer than `maxBytes` is replaced by what `instead` makes of
 * the number of line ends in it. Holds no more than one record at a time. A quote opens a field only where the field
 * begins, as for the parser.
 */
export async function* boundedRecords(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  instead: (lineEnds: number) => string,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  let lineEnds = 0;
  let state: 'start' | 'plain' | 'quoted' | 'quote-in-quoted' = 'start';

  const add = (part: Buffer): void => {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts = [];
  };
  const take = (): Buffer => {
    const record = length > maxBytes ? Buffer.from(`${instead(lineEnds)}\n`) : Buffer.concat(parts);
    parts = [];
    length = 0;
    lineEnds = 0;
    return record;
  };

  for await (const chunk of chunks) {
    // Whole records leave together, up to `sent`; the one under way begins at `from`.
    let sent = 0;
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF) lineEnds += 1;
      if (state === 'quoted') {
        if (byte === QUOTE) state = 'quote-in-quoted';
      } else if (byte === QUOTE && state !== 'plain') state = 'quoted';
      else if (byte === LF) {
        state = 'start';
        if (length + at + 1 - from > maxBytes || length > 0) {
          if (from > sent) yield chunk.subarray(sent, from);
          add(chunk.subarray(from, at + 1));
          yield take();
          sent = at + 1;
        }
        from = at + 1;
        lineEnds = 0;
      } else if (byte === COMMA) state = 'start';
      else if (byte !== CR) state = 'plain';
    }
    if (from > sent) yield chunk.subarray(sent, from);
    add(Buffer.from(chunk.subarray(from)));
  }
  if (length > 0) yield take();
}
