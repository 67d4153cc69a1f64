import type { Span } from '../../../engine/span.js';
import { type Markup, RAW_TEXT } from '../../../engine/text/html/tags.js';

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

/** Finds the markup of an unfinished text that what follows may still close. */

interface OpenMarkup {
  /** Start of the first of it: from there on each tag may turn out to be none. The length of the text without any. */
  readonly start: number;
  /** Starts of the attributes of tags that end no earlier than the text. */
  readonly attributes: readonly Pick<Markup, 'name' | 'innerStart'>[];
}

const UNCLOSED = /<(?:\/?([a-z][\w:-]{0,40})(?=[\s/])|[!?])/giy;

/** The markup of a text that isn't closed, given its tags. Linear in the text. */
export function openMarkup(text: string, tags: readonly Markup[]): OpenMarkup {
  const unclosed = unclosedTag(text, tags);
  const quoted = quotedTag(text, tags);
  const raw = tags.find(({ type, name }, at) => type === 'open' && RAW_TEXT.has(name) && !rawTextEnd(tags, at));
  const attributes = [unclosed.tag, quoted].filter((tag) => tag !== undefined);
  return { start: Math.min(unclosed.start, quoted?.start ?? text.length, raw?.end ?? text.length), attributes };
}

/** The end tag of the raw text that a tag opens. */
function rawTextEnd(tags: readonly Markup[], at: number): Markup | undefined {
  const [tag, next] = [tags[at], tags[at + 1]];
  return tag?.type === 'open' && RAW_TEXT.has(tag.name) && next?.type === 'close' && next.name === tag.name
    ? next
    : undefined;
}

/** The first markup without an end, and the first tag of that kind. */
function unclosedTag(
  text: string,
  tags: readonly Markup[],
): { readonly start: number; readonly tag?: Pick<Markup, 'name' | 'innerStart'> } {
  let start = text.length;
  let next = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    while ((tags[next]?.end ?? text.length) <= at) next += 1;
    const tag = tags[next];
    if (tag !== undefined && tag.start <= at) {
      const close = rawTextEnd(tags, next);
      at = (close ?? tag).end - 1;
      continue;
    }
    UNCLOSED.lastIndex = at;
    const match = UNCLOSED.exec(text);
    if (match === null) continue;
    start = Math.min(start, at);
    if (match[1] !== undefined) return { start, tag: { name: match[1].toLowerCase(), innerStart: UNCLOSED.lastIndex } };
  }
  return { start };
}

/** The first tag whose end is a sign within quotes, for want of another: they aren't closed, or nothing ends the tag behind them. */
function quotedTag(text: string, tags: readonly Markup[]): Markup | undefined {
  const last = { '"': text.lastIndexOf('"'), "'": text.lastIndexOf("'") };
  return tags.find(({ type, innerStart, innerEnd }) => {
    if (type !== 'open' && type !== 'close') return false;
    const pattern = /=(["'])/g;
    pattern.lastIndex = innerStart;
    for (let match = pattern.exec(text); match !== null && match.index < innerEnd; match = pattern.exec(text)) {
      const quote = match[1] as keyof typeof last;
      if (last[quote] < pattern.lastIndex) return true;
      pattern.lastIndex = text.indexOf(quote, pattern.lastIndex) + 1;
      // No sign that ends the tag stands behind the quotes.
      if (pattern.lastIndex > innerEnd) return true;
    }
    return false;
  });
}
