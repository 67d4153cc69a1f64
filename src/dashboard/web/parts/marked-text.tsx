import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Span } from '../../../engine/span.js';
import { count, counted } from '../format.js';
import { visiblePieces } from '../visible-pieces.js';

/** Longer texts leave out stretches that hold nothing marked, until they are asked for. */
const longFrom = 20_000;
/** Code units shown on either side of a mark, and at the start, of a long text. */
const around = 1_500;

/** A screened text as it is, inert: spans marked, invisible and direction-changing characters spelled out. */
export function MarkedText({ text, spans }: { text: string; spans: readonly Span[] }): JSX.Element {
  const [all, setAll] = useState(text.length <= longFrom);
  const place = useRef<HTMLElement>(null);
  const [at, setAt] = useState(-1);
  const parts = markedParts(text, spans);
  const marks = parts.filter(({ marked }) => marked).length;
  const go = (index: number): void => {
    setAt(index);
    place.current?.querySelectorAll('mark')[index]?.scrollIntoView({ block: 'center' });
  };
  return (
    <>
      {marks < 2 && all ? null : (
        <div class="actions text-tools">
          {marks === 0 ? null : (
            <>
              <span role="status">{at < 0 ? counted(marks, 'mark', 'marks') : `Mark ${at + 1} of ${marks}`}</span>
              <button type="button" disabled={at <= 0} onClick={() => go(at - 1)}>
                ↑ Previous mark
              </button>
              <button type="button" disabled={at >= marks - 1} onClick={() => go(at + 1)}>
                ↓ Next mark
              </button>
            </>
          )}
          {all ? null : (
            <button type="button" onClick={() => setAll(true)}>
              Show all {count(text.length)} characters
            </button>
          )}
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="screened" aria-label="Screened text" tabIndex={0} ref={place}>
        {text === '' ? <span class="hint">The text is empty.</span> : null}
        {parts.map((part) =>
          part.marked ? (
            <mark key={part.start}>{pieces(text.slice(part.start, part.end))}</mark>
          ) : (
            <span key={part.start}>{all ? pieces(text.slice(part.start, part.end)) : shortened(text, part)}</span>
          ),
        )}
      </section>
    </>
  );
}

/** The ends of a stretch beside its marks; of one that begins or ends the text, the end that is inside. */
function shortened(text: string, { start, end }: Part): readonly (JSX.Element | string)[] {
  const head = Math.min(end, start + around);
  const tail = end === text.length ? end : Math.max(head, end - around);
  const left = tail - head;
  if (end === text.length && head < end)
    return [...pieces(text.slice(start, head)), <Gap key="gap" size={end - head} />];
  if (left <= 0) return pieces(text.slice(start, end));
  return [...pieces(text.slice(start, head)), <Gap key="gap" size={left} />, ...pieces(text.slice(tail, end))];
}

function Gap({ size }: { size: number }): JSX.Element {
  return <span class="gap">{counted(size, 'character', 'characters')} without a mark left out</span>;
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

/** The text in parts, each wholly inside or outside the spans; overlapping spans are one mark. */
function markedParts(text: string, spans: readonly Span[]): readonly Part[] {
  const parts: Part[] = [];
  const end = text.length;
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
  if (at < end) parts.push({ start: at, end, marked: false });
  return parts;
}
