import type { Span } from '../../engine/span.js';

/**
 * Turns spans in UTF-8 bytes into spans in UTF-16 code units. `spans` ascending and disjoint; the text well-formed.
 * One pass over the text.
 */
export function byteOffsets(text: string, spans: readonly Span[]): readonly Span[] {
  let bytes = 0;
  let units = 0;
  const advance = (target: number): number => {
    while (bytes < target) {
      const code = text.charCodeAt(units);
      if (code >= 0xd800 && code <= 0xdbff) {
        bytes += 4;
        units += 2;
      } else {
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
        units += 1;
      }
    }
    return units;
  };
  return spans.map(({ start, end }) => ({ start: advance(start), end: advance(end) }));
}
