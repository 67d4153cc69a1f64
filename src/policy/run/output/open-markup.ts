/** Finds the markup of an unfinished text that what follows may still close. */
import { type Markup, RAW_TEXT } from '../../../engine/text/html/tags.js';

export interface OpenMarkup {
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
