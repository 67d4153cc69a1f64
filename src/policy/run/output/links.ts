/** Finds the links of a text that a model wrote or read: Markdown, HTML, autolinks, bare addresses. Linear in the text. */
import { domainToUnicode } from 'node:url';
import { decodeHTML } from 'entities';
import { firstFrom, type Span } from '../../../engine/span.js';
import { htmlAttributes, htmlTags, type Markup } from '../../../engine/text/html/tags.js';
import { dataUrlBytes } from '../../encoded-text.js';
import { codeSpans, openCode, openMarkup } from './markup.js';

/** A target in a text. The span is what a reader would follow, as it is written. */
export interface Link extends Span {
  readonly url: URL;
  /** In lower case and Unicode, without `www.`; '' for a scheme without hosts. */
  readonly host: string;
  /** Loads by itself where it is shown: images, frames, styles. */
  readonly isLoaded: boolean;
  /** Shown as plain text by most readers: in code, or without a scheme. */
  readonly isPlain: boolean;
  /** Of an unfinished text: what follows may still make it load, show it as plain text, or make it no link. */
  readonly isOpen: boolean;
}

/** The links of a text that is still being written. */
export interface UnfinishedLinks {
  readonly links: readonly Link[];
  /** Start of the first target that isn't complete. The length of the text where all are. */
  readonly openFrom: number;
  /** Whether a tag isn't closed: any sign that follows may belong to an attribute. */
  readonly isInTag: boolean;
}

interface Target extends Omit<Link, 'url' | 'host'> {
  readonly written: string;
  /** The relative addresses behind it lead on from it. */
  readonly isBase?: boolean;
}

/** Any host that nobody has: what resolves to it is relative. An address without slashes is, but only on a page of its scheme. */
const NOWHERE = 'relative.invalid';
const PAGES = [`https://${NOWHERE}/`, `http://${NOWHERE}/`];
/** Markup in markup, as in `srcdoc`. */
const MAX_NESTED = 2;

/** The links of a text that lead to another place and end after `from`, in their order. Relative ones are left out. */
export function linksIn(text: string, from = 0, nested = 0): readonly Link[] {
  const marks = bracketTargets(text, false);
  const targets = [...marks.targets, ...tagTargets(text, nested), ...bareTargets(text, marks.labelEnds)];
  return linksOf(targets, codeSpans(text), from, nested);
}

/**
 * The links of a text that is still being written, and that ends where no bare address goes on. Whatever follows, those of the
 * whole text that begin before `openFrom` are these, but for the ones that are open. Links that end up to `from` are left out.
 */
export function unfinishedLinks(text: string, from = 0): UnfinishedLinks {
  const marks = bracketTargets(text, true);
  const markup = text.includes('<') ? openMarkup(text, htmlTags(text)) : { start: text.length, attributes: [] };
  const tagged = tagTargets(text, 0).map((target) => ({ ...target, isOpen: target.start >= markup.start }));
  const possible = markup.attributes.flatMap(({ name, innerStart }) =>
    attributeTargets(text, { name, innerStart, innerEnd: text.length }, 0),
  );
  const attributes = markup.attributes.flatMap(({ innerStart }) => htmlAttributes(text, innerStart, text.length));
  const targets = [
    ...marks.targets,
    ...tagged,
    ...possible.map((target) => ({ ...target, isOpen: true })),
    ...bareTargets(text, marks.labelEnds),
  ];
  const code = openCode(text);
  const links = linksOf(targets, codeSpans(text), from, 0);
  const unended = [...targets, ...attributes].filter(({ end }) => end === text.length).map(({ start }) => start);
  return {
    links: links.map((link) => (link.start < code || link.isPlain ? link : { ...link, isOpen: true })),
    openFrom: unended.reduce((first, start) => Math.min(first, start), text.length),
    isInTag: markup.attributes.length > 0,
  };
}

function linksOf(targets: readonly Target[], code: readonly Span[], from: number, nested: number): readonly Link[] {
  const links = new Map<string, Link>();
  const base = targets.find((target) => target.isBase && !isWithin(target, code) && urlOf(target.written));
  for (const { written, isBase: _, ...place } of targets) {
    const isBehind = base !== undefined && place.start > base.start;
    const url = place.end > from ? urlOf(written, isBehind ? urlOf(base.written) : undefined) : undefined;
    if (url === undefined) continue;
    const isOpen = place.isOpen || (isBehind && base.isOpen);
    const link = { ...place, url, host: hostOf(url), isPlain: place.isPlain || isWithin(place, code), isOpen };
    const isMarkup = url.protocol === 'data:' && nested < MAX_NESTED;
    const [, head, body = ''] = (isMarkup && /^([^,]*),(.*)$/s.exec(url.pathname + url.search)) || [];
    const inner = head === undefined ? [] : within(Buffer.from(dataUrlBytes(head, body)).toString(), link, nested);
    for (const each of [link, ...inner]) {
      const name = `${each.start} ${each.end} ${each.url.href}`;
      if (!links.has(name)) links.set(name, each);
    }
  }
  return [...links.values()].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** The host as it is compared. */
function hostOf({ hostname, protocol, pathname }: URL): string {
  const host = protocol === 'mailto:' ? pathname.slice(pathname.lastIndexOf('@') + 1) : hostname;
  const shown = domainToUnicode(host.toLowerCase().replace(/\.$/, '')) || host.toLowerCase();
  return shown.replace(/^www\./, '');
}

function urlOf(written: string, base?: URL): URL | undefined {
  const decoded = decodeHTML(written).trim();
  const rooted = /^www\./i.test(decoded) ? `https://${decoded}` : decoded;
  for (const page of base === undefined ? PAGES : [...PAGES, base.href]) {
    const url = URL.canParse(rooted, page) ? new URL(rooted, page) : undefined;
    if (url !== undefined && url.hostname !== NOWHERE) return url;
  }
  return undefined;
}

/** Links of markup that stands in an attribute or a data URL, at the place of that. */
function within(
  markup: string,
  { start, end, isPlain, isOpen }: Omit<Link, 'url' | 'host' | 'isLoaded'>,
  nested: number,
): readonly Link[] {
  return linksIn(markup, 0, nested + 1).map((link) => ({ ...link, start, end, isPlain, isOpen }));
}

function isWithin({ start }: Span, spans: readonly Span[]): boolean {
  return (spans[firstFrom(spans, 'end', start + 1)]?.start ?? Number.POSITIVE_INFINITY) <= start;
}

/** Destinations of `[label](…)` and `[label]: …`, and where labels end. */
function bracketTargets(
  text: string,
  isUnfinished: boolean,
): {
  readonly targets: readonly Target[];
  readonly labelEnds: ReadonlySet<number>;
} {
  const targets: Target[] = [];
  const labelEnds = new Set<number>();
  const definitions: (Target & { readonly label: string })[] = [];
  const shown = new Set<string>();
  const open: number[] = [];
  let imageEnd = -1;
  for (let at = nextBracket(text, 0); at >= 0; at = nextBracket(text, at + 1)) {
    const sign = text.charAt(at);
    if (sign === '\\') at += 1;
    else if (sign === '[') open.push(at);
    else {
      const start = open.pop() ?? at;
      const isImage = text.charAt(start - 1) === '!';
      const label = at - start > MAX_LABEL ? '' : labelOf(text.slice(start + 1, at));
      if (start < at) labelEnds.add(at);
      // `![label]`, or the second label of `![text][label]`.
      if (isImage || start === imageEnd + 1) shown.add(label);
      if (isImage) imageEnd = at;
      const next = text.charAt(at + 1);
      if (next !== '(' && next !== ':') continue;
      const target = destination(text, at + 2, next === '(', isUnfinished);
      if (next === '(') targets.push({ ...target, isLoaded: isImage });
      else definitions.push({ ...target, label });
      at = Math.max(at, target.end - 1);
    }
  }
  return {
    targets: [
      ...targets,
      ...definitions.map((each) => ({
        ...each,
        isLoaded: shown.has(each.label),
        isOpen: isUnfinished && !shown.has(each.label),
      })),
    ],
    labelEnds,
  };
}

const MAX_LABEL = 200;
const BRACKET = /[[\]\\]/g;
const SPACE = /\s*/y;
const ANGLED = /<[^<>\n]*>/y;
const OPEN_ANGLE = /<[^<>\n]*$/y;

function nextBracket(text: string, from: number): number {
  BRACKET.lastIndex = from;
  return BRACKET.exec(text)?.index ?? -1;
}

function labelOf(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

/** A destination: in angle brackets, or up to white space or a parenthesis that was not opened. */
function destination(text: string, from: number, isInline: boolean, isUnfinished: boolean): Target {
  SPACE.lastIndex = from;
  let start = from + (SPACE.exec(text)?.[0].length ?? 0);
  ANGLED.lastIndex = start;
  const angled = ANGLED.exec(text)?.[0];
  if (angled !== undefined) start += 1;
  OPEN_ANGLE.lastIndex = start;
  const isCut = isUnfinished && angled === undefined && OPEN_ANGLE.test(text);
  const bare = isCut ? text.length : bareEnd(text, start, isInline);
  const end = angled === undefined ? bare : start + angled.length - 2;
  const written = text.slice(start, end).replace(/\\([!-/:-@[-`{-~])/g, '$1');
  return { start, end, written, isLoaded: false, isPlain: false, isOpen: false };
}

function bareEnd(text: string, start: number, isInline: boolean): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (/\s/.test(sign)) return at;
    if (sign === '\\') at += 1;
    else if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    if (depth < 0 && isInline) return at;
  }
  return text.length;
}

const FOLLOWED = new Set(['a', 'area', 'form', 'button', 'input', 'blockquote', 'q', 'del', 'ins']);
const FOLLOWED_BY = new Set(['href', 'xlink:href', 'action', 'formaction', 'cite', 'ping']);
const WHOLE = new Set(
  'href xlink:href src action formaction poster data background cite longdesc manifest codebase archive lowsrc dynsrc'.split(
    ' ',
  ),
);
/** Addresses within a style, a list of sources, a script or a refresh. */
const ADDRESS = /(?:(?:https?|wss?|ftp):[\\/]*|(?:[a-z][a-z\d+.-]{1,15}:)?[\\/]{2})[^\s"'`<>)\\,;]+/gi;

function tagTargets(text: string, nested: number): readonly Target[] {
  if (!text.includes('<')) return [];
  return htmlTags(text).flatMap((tag) => (tag.type === 'open' ? attributeTargets(text, tag, nested) : []));
}

function attributeTargets(
  text: string,
  tag: Pick<Markup, 'name' | 'innerStart' | 'innerEnd'>,
  nested: number,
): readonly Target[] {
  return htmlAttributes(text, tag.innerStart, tag.innerEnd).flatMap(({ name, start, end }): readonly Target[] => {
    const value = decodeHTML(text.slice(start, end));
    const isLoaded = !(FOLLOWED.has(tag.name) && FOLLOWED_BY.has(name));
    const place = { start, end, isLoaded, isPlain: false, isOpen: false };
    if (WHOLE.has(name)) return [{ ...place, written: value, isBase: tag.name === 'base' && name === 'href' }];
    if (name === 'srcdoc' && nested < MAX_NESTED)
      return within(value, place, nested).map(({ url, isLoaded: loads }) => ({
        ...place,
        isLoaded: loads,
        written: url.href,
      }));
    return [...value.matchAll(ADDRESS)].map(([written]) => ({ ...place, written }));
  });
}

/** An address with a scheme, `www.`, or, where a string or a style begins, `//` or a scheme of the web alone. */
const BARE =
  /(?:[a-z][a-z\d+.-]{1,15}:[\\/]{2}|mailto:(?=[^\s@]{1,64}@)|(?:[\\/]{2}|(?:https?|wss?|ftp):[\\/]?)(?=[\p{L}\p{N}[])(?<=[=("'<]\s*(?:[\\/]{2}|[a-z]{2,5}:[\\/]?))|(?<![\p{L}\p{N}.@/_-])www\.)[^\s<>\u3000-\u303f\uff00-\uff60]+/giu;
/** A domain with a path. */
const DOMAIN_PATH =
  /(?<![\p{L}\p{N}.@/:%_\\=-])(?:[\p{L}\p{N}_-]{1,63}\.){1,8}\p{L}{2,24}(?::\d{1,5})?[/?#][^\s<>\u3000-\u303f\uff00-\uff60]+/gu;
const TRAILING = /[?!.,:;*_~'"`|\\”’»›“]$/;
const CLOSERS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
const LOADS = /(?<=(?:(?<!new )url\(|@import)\s*(?:["']\s*)?)/iy;

function bareTargets(text: string, labelEnds: ReadonlySet<number>): readonly Target[] {
  const isJson = /^\s*[[{]/.test(text);
  const found: Target[] = [];
  for (const [pattern, isPlain] of [
    [BARE, false],
    [DOMAIN_PATH, true],
  ] as const)
    for (const { 0: match, index: start } of text.matchAll(pattern)) {
      const written = trimmed(cut(text, start, match, labelEnds, isJson));
      const end = start + written.length;
      LOADS.lastIndex = start;
      found.push({
        start,
        end,
        isLoaded: LOADS.test(text),
        isPlain,
        isOpen: false,
        written: isPlain ? `https://${written}` : written,
      });
    }
  return found;
}

/** The match up to the end of the string, the code or the label that it stands in. */
function cut(text: string, start: number, match: string, labelEnds: ReadonlySet<number>, isJson: boolean): string {
  const quote = text.charAt(start - 1);
  for (let at = 1; at < match.length; at += 1) {
    const sign = match.charAt(at);
    const isEnd =
      (isJson && (sign === '"' || sign === '\\')) ||
      (sign === quote && (quote === '"' || quote === "'" || quote === '`')) ||
      (sign === ']' && labelEnds.has(start + at));
    if (isEnd) return match.slice(0, at);
  }
  return match;
}

/** Without what ends a sentence or closes what was opened before. */
function trimmed(match: string): string {
  let end = match.length;
  const open = new Map<string, number>();
  for (const sign of match) if ('()[]{}'.includes(sign)) open.set(sign, (open.get(sign) ?? 0) + 1);
  for (; end > 0; end -= 1) {
    const last = match.charAt(end - 1);
    const opener = CLOSERS[last];
    const isClosing = opener !== undefined && (open.get(last) ?? 0) > (open.get(opener) ?? 0);
    if (!isClosing && !TRAILING.test(last)) break;
    if (opener !== undefined) open.set(last, (open.get(last) ?? 0) - 1);
  }
  return match.slice(0, end);
}
