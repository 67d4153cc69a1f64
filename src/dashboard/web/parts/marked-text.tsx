import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { edgeBefore, type MarkedPart, markedParts, type Span } from '../../../engine/span.js';
import type { RecordView } from '../../ports.js';
import { count, counted } from '../format.js';
import { Button } from './basics.js';

/** Longer texts are shown around their marks until the reader asks for all. */
const LONG_FROM = 20_000;
/** Code units shown on either side of a mark, and at the start, of a long text. */
const AROUND = 1_500;

interface MarkedTextProps {
  readonly text: string;
  readonly spans: readonly Span[];
  /** Names the region. */
  readonly label: string;
}

/** A screened text, inert: spans marked, the first one scrolled to; invisible and direction-changing characters spelled out. */
export function MarkedText({ text, spans, label }: MarkedTextProps) {
  const [all, setAll] = useState(text.length <= LONG_FROM);
  const place = useRef<HTMLElement>(null);
  const [at, setAt] = useState(0);
  const marks = markedParts(text, spans).filter(({ isMarked }) => isMarked).length;
  const show = (index: number): void => {
    const box = place.current;
    const mark = box?.querySelectorAll('mark')[index];
    // Within the box alone: the page stays where the reader is.
    if (box && mark)
      box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  };
  const go = (index: number): void => {
    setAt(index);
    show(index);
  };
  // Also once more of the text is shown: the mark has moved.
  useEffect(() => show(at), [text, all]);
  return (
    <>
      {marks < 2 && all ? null : (
        <div class="actions text-tools">
          {marks === 0 ? null : (
            <>
              <span role="status">
                Mark {at + 1} of {marks}
              </span>
              <Button disabled={at <= 0} onClick={() => go(at - 1)}>
                ↑ Previous mark
              </Button>
              <Button disabled={at >= marks - 1} onClick={() => go(at + 1)}>
                ↓ Next mark
              </Button>
            </>
          )}
          {all ? null : <Button onClick={() => setAll(true)}>Show all {count(text.length)} characters</Button>}
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="screened" aria-label={label} tabIndex={0} ref={place}>
        {text === '' ? <span class="hint">The text is empty.</span> : null}
        <Marked text={text} spans={spans} unmarked={all ? undefined : (part) => shortened(text, part)} />
      </section>
    </>
  );
}

/** The ends of an unmarked part beside its marks; of the first and the last part, only the inner end. */
function shortened(text: string, { start, end }: Span): readonly (JSX.Element | string)[] {
  const head = Math.min(end, start + AROUND);
  const tail = end === text.length ? end : Math.max(head, end - AROUND);
  const left = tail - head;
  if (end === text.length && head < end)
    return [...pieces(text.slice(start, head)), <Gap key="gap" size={end - head} />];
  if (left <= 0) return pieces(text.slice(start, end));
  return [...pieces(text.slice(start, head)), <Gap key="gap" size={left} />, ...pieces(text.slice(tail, end))];
}

function Gap({ size }: { size: number }) {
  return <span class="gap">{counted(size, 'character', 'characters')} without a mark left out</span>;
}

/** Code units of an excerpt: before its first mark, and in all. */
const LEAD = 40;
const EXCERPT_LENGTH = 200;

/** One line of a record's text around what matters there, marked: the words searched for, else the first finding. */
export function RecordExcerpt({ record, term = '' }: { record: RecordView; term?: string }) {
  const { text } = record.input;
  if (text === null) return <span class="hint">kept as its hash only</span>;
  if (text === '') return <span class="hint">empty text</span>;
  const hits = term === '' ? [] : occurrences(text, term);
  const findings = record.findings.map((it) => it.span);
  const marks =
    hits.length > 0 ? hits : record.verdict.decided_by === 'ml' ? [...findings, ...record.model.hotspots] : findings;
  const first = marks.length === 0 ? 0 : Math.min(...marks.map(({ start }) => start));
  const start = edgeBefore(text, first - LEAD);
  const shown = text.slice(start, edgeBefore(text, start + EXCERPT_LENGTH));
  // A link needs something that can be seen and pressed.
  if (shown.trim() === '') return <span class="hint">white space only</span>;
  const inside = marks.map((it) => ({ start: it.start - start, end: it.end - start }));
  return (
    <span class="text-start">
      {start > 0 ? '… ' : ''}
      <Marked text={shown} spans={inside} />
    </span>
  );
}

/** Finds a term, upper and lower case alike; at most 20 places. */
function occurrences(text: string, term: string): readonly Span[] {
  const found = new RegExp(term.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu');
  const places: Span[] = [];
  for (let match = found.exec(text); match !== null && places.length < 20; match = found.exec(text))
    places.push({ start: match.index, end: match.index + match[0].length });
  return places;
}

/** A short screened text within a sentence, as inert as the whole. */
export function InlineText({ text }: { text: string }) {
  return <bdi>{pieces(text)}</bdi>;
}

/** Code units shown on either side of a passage, and of a long passage itself. */
const BESIDE = 80;

/** A passage of a text, marked, with a few words around it. */
export function PassageExcerpt({ text, span }: { text: string; span: Span }) {
  const start = edgeBefore(text, span.start - BESIDE);
  const end = edgeBefore(text, span.end + BESIDE);
  return (
    <p class="screened">
      {start > 0 ? '… ' : ''}
      {pieces(text.slice(start, span.start))}
      <mark>{pieces(text.slice(span.start, span.end))}</mark>
      {pieces(text.slice(span.end, end))}
      {end < text.length ? ' …' : ''}
    </p>
  );
}

/** A few words of a screened text, as inert as the whole. */
export function Excerpt({ text }: { text: string }) {
  return <p class="screened">{pieces(text)}</p>;
}

/** Most marks over one letter that are drawn; more would climb over the lines above. */
const MOST_MARKS = 8;
const RUN_OF_MARKS = /\p{M}{9,}/gu;
/** A character that can't be seen or that changes the order of others. Tabs and line ends are drawn as they are. */
const HIDDEN = /((?![\n\t\r])[\p{Cf}\p{Cc}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}])/u;

/** The text as it may be drawn, each hidden character spelled out: `U+202E`. */
function pieces(text: string): readonly (JSX.Element | string)[] {
  const calm = text.replace(RUN_OF_MARKS, (marks) => `${[...marks].slice(0, MOST_MARKS).join('')}\u2026`);
  return calm.split(HIDDEN).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      // The pieces of a text never change their order.
      <span class="control" key={index} title="An invisible or direction-changing character">
        {`U+${(piece.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`}
      </span>
    ),
  );
}

interface MarkedProps extends Pick<MarkedTextProps, 'text' | 'spans'> {
  /** Shows a part without a mark; default: whole. */
  readonly unmarked?: ((part: MarkedPart) => readonly (JSX.Element | string)[]) | undefined;
}

function Marked({ text, spans, unmarked }: MarkedProps) {
  const whole = ({ start, end }: Span) => pieces(text.slice(start, end));
  return (
    <>
      {markedParts(text, spans).map((part) =>
        part.isMarked ? (
          <mark key={part.start}>{whole(part)}</mark>
        ) : (
          <span key={part.start}>{(unmarked ?? whole)(part)}</span>
        ),
      )}
    </>
  );
}
