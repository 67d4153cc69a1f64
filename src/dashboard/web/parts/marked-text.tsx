import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Span } from '../../../engine/span.js';
import { visiblePieces } from '../visible-pieces.js';

/** Code units shown before the reader asks for all. */
const shown = 20_000;

/** A screened text as it is, inert: spans marked, invisible and direction-changing characters spelled out. */
export function MarkedText({ text, spans }: { text: string; spans: readonly Span[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const end = all ? text.length : Math.min(text.length, shown);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="screened" aria-label="Screened text" tabIndex={0}>
        {markedParts(text, spans, end).map((part) =>
          part.marked ? (
            <mark key={part.start}>{pieces(text.slice(part.start, part.end))}</mark>
          ) : (
            <span key={part.start}>{pieces(text.slice(part.start, part.end))}</span>
          ),
        )}
      </section>
      {end < text.length ? (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show all {text.length.toLocaleString()} characters
          </button>
        </p>
      ) : null}
    </>
  );
}

/** Short and on one line, for lists. */
export function TextStart({ text }: { text: string }): JSX.Element {
  const start = text.slice(0, 160);
  // A link needs something that can be seen and pressed.
  if (start.trim() === '') return <span class="hint">white space only</span>;
  return <span class="text-start">{pieces(start)}</span>;
}

/** A few words of a screened text, as inert as the whole. */
export function Excerpt({ text }: { text: string }): JSX.Element {
  return <p class="screened">{pieces(text)}</p>;
}

function pieces(text: string): readonly (JSX.Element | string)[] {
  return visiblePieces(text).map((piece, index) =>
    piece.code === undefined ? (
      piece.text
    ) : (
      // The pieces of a text never change their order.
      <span class="control" key={index} title="An invisible or direction-changing character">
        {piece.code}
      </span>
    ),
  );
}

interface Part {
  readonly start: number;
  readonly end: number;
  readonly marked: boolean;
}

/** The text up to `end` in parts, each wholly inside or outside the spans; overlapping spans are one mark. */
function markedParts(text: string, spans: readonly Span[], end: number): readonly Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const from = Math.min(Math.max(span.start, at), end);
    const to = Math.min(Math.max(span.end, at), end);
    if (to <= from) continue;
    if (from > at) parts.push({ start: at, end: from, marked: false });
    const last = parts.at(-1);
    if (last?.marked === true && last.end === from) parts[parts.length - 1] = { ...last, end: to };
    else parts.push({ start: from, end: to, marked: true });
    at = to;
  }
  if (at < Math.min(end, text.length)) parts.push({ start: at, end: Math.min(end, text.length), marked: false });
  return parts;
}
