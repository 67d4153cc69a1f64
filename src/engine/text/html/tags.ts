import type { Replacement } from '../rewrite.js';

/** One piece of markup; what lies between two pieces is text. */
export interface Markup {
  readonly start: number;
  readonly end: number;
  readonly type: 'open' | 'close' | 'comment' | 'cdata' | 'declaration';
  /** Lower case, for open and close. */
  readonly name: string;
  /** Range of the attributes (open) or of the inner text (comment, cdata). */
  readonly innerStart: number;
  readonly innerEnd: number;
}

const TAG_NAME = /<(\/?)([a-zA-Z][a-zA-Z0-9:_-]{0,40})(?=[\s/>])/y;
/** These hold text that is no markup up to their end tag. */
export const RAW_TEXT: ReadonlySet<string> = new Set('script style textarea title noframes xmp iframe'.split(' '));

/** The markup of a text in order. Linear: each search for an end that failed is not made again. */
export function htmlTags(text: string): readonly Markup[] {
  const found: Markup[] = [];
  const seek = seeker(text);
  const unclosed = new Set<string>();
  let at = text.indexOf('<');
  while (at >= 0) {
    const piece = readMarkup(text, at, seek);
    let next = at + 1;
    if (piece !== undefined) {
      found.push(piece);
      next = piece.end;
      if (piece.type === 'open' && RAW_TEXT.has(piece.name) && !unclosed.has(piece.name)) {
        const close = rawTextEnd(text, piece);
        if (close === undefined) unclosed.add(piece.name);
        else found.push(close);
        next = close?.end ?? next;
      }
    }
    at = text.indexOf('<', next);
  }
  return found;
}

type Seek = (what: string, from: number) => number;

/** `indexOf` that remembers for each string the last answer, so that ascending questions cost one pass together. */
function seeker(text: string): Seek {
  const answers = new Map<string, { readonly from: number; readonly at: number }>();
  return (what, from) => {
    const last = answers.get(what);
    if (last !== undefined && last.from <= from && (last.at < 0 || last.at >= from)) return last.at;
    const at = text.indexOf(what, from);
    answers.set(what, { from, at });
    return at;
  };
}

function readMarkup(text: string, at: number, seek: Seek): Markup | undefined {
  const sign = text.charCodeAt(at + 1);
  if (sign === 0x21) return readDeclaration(text, at, seek);
  if (sign === 0x3f) return closed('declaration', at, seek('>', at), 2, 1);
  TAG_NAME.lastIndex = at;
  const match = TAG_NAME.exec(text);
  if (match === null) return undefined;
  const [all, slash, name = ''] = match;
  const inner = at + all.length;
  const end = tagEnd(inner, seek);
  if (end < 0) return undefined;
  return {
    start: at,
    end: end + 1,
    type: slash === '/' ? 'close' : 'open',
    name: name.toLowerCase(),
    innerStart: inner,
    innerEnd: end,
  };
}

function readDeclaration(text: string, at: number, seek: Seek): Markup | undefined {
  if (text.startsWith('<!--', at)) {
    const end = seek('-->', at + 4);
    // A comment that is never closed hides all that follows.
    return end < 0
      ? { start: at, end: text.length, type: 'comment', name: '', innerStart: at + 4, innerEnd: text.length }
      : closed('comment', at, end, 4, 3);
  }
  if (text.startsWith('<![CDATA[', at)) return closed('cdata', at, seek(']]>', at + 9), 9, 3);
  return closed('declaration', at, seek('>', at), 2, 1);
}

function closed(type: Markup['type'], at: number, end: number, opening: number, closing: number): Markup | undefined {
  if (end < at + opening) return undefined;
  return { start: at, end: end + closing, type, name: '', innerStart: at + opening, innerEnd: end };
}

/** The '>' that ends a tag, not one within quotes; -1 without any. */
function tagEnd(from: number, seek: Seek): number {
  const first = seek('>', from);
  if (first < 0) return -1;
  let at = from;
  let end = first;
  for (;;) {
    const double = seek('="', at);
    const single = seek("='", at);
    const quote = double < 0 ? single : single < 0 ? double : Math.min(double, single);
    if (quote < 0 || quote > end) return end;
    const close = seek(quote === double ? '"' : "'", quote + 2);
    if (close < 0) return end;
    at = close + 1;
    if (at > end) {
      // Where no '>' follows the tag ends at the last one seen; to go back to the first would cost a square.
      const next = seek('>', at);
      if (next < 0) return end;
      end = next;
    }
  }
}

/** The end tag of an element that holds raw text. */
function rawTextEnd(text: string, open: Markup): Markup | undefined {
  const end = new RegExp(`</${open.name}[\\s>]`, 'gi');
  end.lastIndex = open.end;
  const match = end.exec(text);
  if (match === null) return undefined;
  const close = text.indexOf('>', match.index);
  const stop = close < 0 ? text.length : close + 1;
  return { start: match.index, end: stop, type: 'close', name: open.name, innerStart: stop, innerEnd: stop };
}

/** One attribute of a tag; the value without its quotes, in offsets of the text. */
export interface Attribute {
  /** Lower case. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Longer names are no attribute that hides or shows anything. */
const MAX_NAME = 80;
/** White space on either side of '='. */
const MAX_SPACE = 8;
const HIDDEN = /(?:^|\s)hidden(?=$|[\s/])/i;

/** The attributes between two offsets of a text; of those without a value `hidden` alone. */
export function htmlAttributes(text: string, from: number, to: number): readonly Attribute[] {
  if (to - from < 2) return [];
  const found: Attribute[] = [];
  const inner = text.slice(from, to);
  if (HIDDEN.test(inner)) found.push({ name: 'hidden', start: from, end: from });
  let read = 0;
  for (let equals = inner.indexOf('='); equals >= 0; equals = inner.indexOf('=', Math.max(read, equals + 1))) {
    const name = nameBefore(inner, read, equals);
    if (name === '') continue;
    let start = equals + 1;
    while (start <= equals + MAX_SPACE && isSpace(inner.charCodeAt(start))) start += 1;
    const quote = inner.charAt(start);
    let end: number;
    if (quote === '"' || quote === "'") {
      start += 1;
      const close = inner.indexOf(quote, start);
      end = close < 0 ? inner.length : close;
      read = close < 0 ? end : close + 1;
    } else {
      end = start;
      while (end < inner.length && isBare(inner.charCodeAt(end))) end += 1;
      if (end === start) continue;
      read = end;
    }
    found.push({ name, start: from + start, end: from + end });
  }
  return found;
}

/** The name before an equals sign, in lower case; '' when there is none after `from`. */
function nameBefore(inner: string, from: number, equals: number): string {
  let end = equals;
  while (end > from && equals - end < MAX_SPACE && isSpace(inner.charCodeAt(end - 1))) end -= 1;
  let start = end;
  while (start > from && end - start < MAX_NAME && isName(inner.charCodeAt(start - 1))) start -= 1;
  return inner.slice(start, end).toLowerCase();
}

function isSpace(unit: number): boolean {
  return unit <= 0x20
    ? unit === 0x20 || (unit >= 9 && unit <= 13)
    : unit >= 0xa0 && /\s/.test(String.fromCharCode(unit));
}

function isName(unit: number): boolean {
  return isBare(unit) && unit !== 0x3d && unit !== 0x2f;
}

/** Part of a value without quotes. */
function isBare(unit: number): boolean {
  return !isSpace(unit) && unit !== 0x3e && unit !== 0x22 && unit !== 0x27;
}

/** Elements that stand within a line: to take their tags away joins what they part (`ig<b>no</b>re`). */
const INLINE = new Set(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
const UNSHOWN = new Set(['script', 'style', 'template', 'noscript', 'noframes', 'iframe']);

/**
 * Returns the replacements that leave the text of an HTML document without its tags: nothing for those within a line, a line
 * break for others. That is what its reader sees, and what its reader doesn't but for attributes, comments and scripts.
 */
export function removeTags(text: string, tags: readonly Markup[]): readonly Replacement[] {
  const found: Replacement[] = [];
  let unshown = '';
  let from = 0;
  for (const tag of tags) {
    if (unshown !== '' && !(tag.type === 'close' && tag.name === unshown)) continue;
    if (unshown === '') from = tag.start;
    const isSelfClosing = text[tag.innerEnd - 1] === '/';
    unshown = tag.type === 'open' && !isSelfClosing && UNSHOWN.has(tag.name) ? tag.name : '';
    // The content of an element that is not shown goes with its tags.
    const replacement = INLINE.has(tag.name) || tag.type === 'comment' ? '' : '\n';
    found.push({ start: from, end: tag.end, text: replacement, transform: 'html-text' });
    from = tag.end;
  }
  return found;
}
