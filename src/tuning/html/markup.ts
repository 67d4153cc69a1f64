import type { Span } from '../../engine/span.js';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

// Characters that can't be seen, that turn the direction of the page's own text, or that HTML forbids.
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{VS}]/gu;

/** Any text as HTML text or as a quoted attribute's value: nothing in it can become markup, be invisible or turn the page. */
export const escaped = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
    .replace(unseen, (character) =>
      character === '\n' || character === '\t'
        ? character
        : `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`,
    );

/** Characters of one text that a report shows at most; the middle of a longer one is left out, and said so. */
const mostShown = 6_000;

const joined = (spans: readonly Span[]): readonly Span[] => {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1);
    if (last === undefined || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
};

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
  for (const { start, end } of joined(spans)) {
    if (start > at) add(at, start, false);
    add(Math.max(at, start), end, true);
    at = Math.max(at, end);
  }
  if (at < text.length) add(at, text.length, false);
  return pieces.join('');
};
