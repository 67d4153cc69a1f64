import type { Span } from '../../../engine/span.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;
const TICKS = /`+|\n/g;

/** The code of a Markdown text: fenced blocks that are closed, and code spans within a line; ascending. Linear in the text. */
export function codeSpans(text: string): readonly Span[] {
  if (!text.includes('`') && !text.includes('~~~')) return [];
  const blocks = fences(text).filter(({ end }) => end !== undefined) as readonly Span[];
  const spans: Span[] = [];
  let from = 0;
  for (const block of [...blocks, { start: text.length, end: text.length }]) {
    spans.push(...ticked(text.slice(from, block.start), from), block);
    from = block.end;
  }
  return spans;
}

/**
 * Finds the start of the last code of an unfinished text that is not closed for certain: what follows may close it, and make code of
 * all that stands in it. The length of the text where there is none.
 */
export function openCode(text: string): number {
  const blocks = fences(text);
  const last = blocks.at(-1);
  // The last line isn't finished: with more in it, it closes nothing.
  if (last !== undefined && (last.end ?? text.length) === text.length) return last.start;
  const line = Math.max(text.lastIndexOf('\n') + 1, last?.end ?? 0);
  const spans = ticked(text.slice(line), line);
  const row = [...text.slice(line).matchAll(/`+/g)].find(({ index }) =>
    spans.every(({ start, end }) => index + line < start || index + line >= end),
  );
  return row === undefined ? text.length : row.index + line;
}

function fences(text: string): readonly { readonly mark: string; readonly start: number; readonly end?: number }[] {
  const found: { mark: string; start: number; end?: number }[] = [];
  for (const { 0: line, 1: mark = '', 2: rest = '', index } of text.matchAll(FENCE)) {
    const open = found.at(-1);
    if (open === undefined || open.end !== undefined) {
      if (mark.startsWith('~') || !rest.includes('`')) found.push({ mark, start: index });
    } else if (mark.startsWith(open.mark) && rest.trim() === '') open.end = index + line.length;
  }
  return found;
}

/** Code between rows of backticks of the same length. */
function ticked(text: string, offset: number): readonly Span[] {
  const spans: Span[] = [];
  let rows: { readonly start: number; readonly length: number }[] = [];
  const close = (): void => {
    const last = new Map(rows.map(({ length }, at) => [length, at]));
    for (let at = 0; at < rows.length; at += 1) {
      const { start, length } = rows[at] as (typeof rows)[number];
      if ((last.get(length) ?? at) === at) continue;
      let end = at + 1;
      while (rows[end]?.length !== length) end += 1;
      spans.push({ start: start + offset, end: (rows[end]?.start ?? start) + length + offset });
      at = end;
    }
    rows = [];
  };
  for (const { 0: row, index } of text.matchAll(TICKS))
    if (row === '\n') close();
    else rows.push({ start: index, length: row.length });
  close();
  return spans;
}
