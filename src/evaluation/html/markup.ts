import { mergeSpans, type Span } from '../../engine/span.js';
import { visibleText } from '../../engine/visible-text.js';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Any text as HTML text or as a quoted attribute's value: nothing in it can become markup, be invisible or turn the page. */
export const escaped = (text: string): string =>
  visibleText(text.replace(/[&<>"']/g, (character) => entities[character] ?? ''));

/** Characters of one text that a report shows at most; the middle of a longer one is left out, and said so. */
const mostShown = 6_000;

/** A hostile text as HTML, with its spans marked. */
export const markedHtml = (text: string, spans: readonly Span[]): string => {
  const pieces: string[] = [];
  let shown = 0;
  const add = (from: number, to: number, isMarked: boolean): void => {
    const room = Math.max(0, isMarked ? mostShown : mostShown - shown);
    const part = text.slice(from, Math.min(to, from + room));
    shown += part.length;
    const left = to - from - part.length;
    const rest = left > 0 ? `<i>[${left} more characters]</i>` : '';
    pieces.push(isMarked ? `<mark>${escaped(part)}${rest}</mark>` : escaped(part) + rest);
  };
  let at = 0;
  for (const { start, end } of mergeSpans(spans)) {
    if (start > at) add(at, start, false);
    add(Math.max(at, start), end, true);
    at = Math.max(at, end);
  }
  if (at < text.length) add(at, text.length, false);
  return pieces.join('');
};
