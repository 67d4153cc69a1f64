import { BRACKET, LESS } from '../char-kinds.js';
import { JOINT, keepSpans, type Rewritten } from '../rewrite.js';
import { type Attribute, htmlAttributes, type Markup } from './tags.js';

/** A part of the text that a reader of the rendered document doesn't see. */
interface HiddenPart {
  readonly start: number;
  readonly end: number;
  /** The construct that hides it, e.g. `html-comment`. */
  readonly transform: string;
  /** True if it continues, across a tag, where the previous part of the same transform ended. */
  readonly joined?: boolean;
}

/** The hidden parts of one kind, as one text. */
export interface HiddenText {
  readonly transform: string;
  readonly made: Rewritten;
}

/** Returns the hidden parts of a text, by kind of hiding place; parts that did not follow one another are separated by a joint. */
export function hiddenTexts(text: string, signs: number, tags: readonly Markup[]): readonly HiddenText[] {
  const parts: HiddenPart[] = [];
  if ((signs & LESS) !== 0 && tags.length > 0) for (const part of htmlHidden(text, tags)) parts.push(part);
  if ((signs & BRACKET) !== 0) for (const part of markdownHidden(text)) parts.push(part);
  if (parts.length === 0) return [];
  const kinds = new Map<string, HiddenPart[]>();
  for (const part of parts) {
    const same = kinds.get(part.transform);
    if (same === undefined) kinds.set(part.transform, [part]);
    else same.push(part);
  }
  return [...kinds].map(([transform, same]) => ({
    transform,
    made: keepSpans(text, same, ({ joined }) => (joined === true ? ' ' : JOINT)),
  }));
}

/** Elements whose content is not shown. */
const UNSHOWN = new Set('script style template noscript noframes noembed xmp iframe datalist'.split(' '));
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
/** Attributes that hold words. */
const WORDY = new Set(
  'alt title aria-label aria-description aria-placeholder placeholder content summary label longdesc srcdoc caption abbr onerror onload'.split(
    ' ',
  ),
);
/** Shorter ones hold a name, no order. */
const MIN_TEXT = 8;

/** The text of an HTML document that its reader doesn't see. */
function htmlHidden(text: string, tags: readonly Markup[]): readonly HiddenPart[] {
  const found: HiddenPart[] = [];
  const selectors = new Set<string>();
  let hiding:
    | { readonly name: string; readonly transform: string; readonly from: number; depth: number; parts: number }
    | undefined;
  let read = 0;
  for (const tag of tags) {
    if (hiding !== undefined) {
      const joined = hiding.parts > 0;
      if (addText(found, text, read, tag.start, hiding.transform, joined)) hiding.parts += 1;
    }
    read = tag.end;
    if (tag.type === 'comment' || tag.type === 'cdata') {
      addText(found, text, tag.innerStart, tag.innerEnd, `html-${tag.type}`, false);
    } else if (tag.type === 'close') {
      if (hiding?.name === tag.name) {
        if (tag.name === 'style') hiddenSelectors(text.slice(hiding.from, tag.start), selectors);
        hiding.depth -= 1;
        if (hiding.depth === 0) hiding = undefined;
      }
    } else if (tag.type === 'open') {
      const attributes = htmlAttributes(text, tag.innerStart, tag.innerEnd);
      addAttributes(found, text, attributes);
      const leaf = VOID.has(tag.name) || text.charCodeAt(tag.innerEnd - 1) === 0x2f;
      if (leaf || isInCode(text, tag)) continue;
      if (hiding !== undefined) hiding.depth += hiding.name === tag.name ? 1 : 0;
      else if (UNSHOWN.has(tag.name))
        hiding = { name: tag.name, transform: 'html-unshown', from: tag.end, depth: 1, parts: 0 };
      else if (isHidden(text, tag, attributes, selectors)) {
        hiding = { name: tag.name, transform: 'html-invisible', from: tag.end, depth: 1, parts: 0 };
      }
    }
  }
  if (hiding !== undefined) addText(found, text, read, text.length, hiding.transform, hiding.parts > 0);
  return found;
}

/** Characters on either side of a tag in which its code span must begin and end. */
const MAX_CODE_SPAN = 200;

/** True for a tag that a Markdown code span mentions: it opens nothing, or all text after `<script>` would count as hidden. */
function isInCode(text: string, { start, end }: Markup): boolean {
  const [before = ''] = text
    .slice(Math.max(0, start - MAX_CODE_SPAN), start)
    .split('\n')
    .slice(-1);
  const [after = ''] = text.slice(end, end + MAX_CODE_SPAN).split('\n', 1);
  return before.split('`').length % 2 === 0 && after.includes('`');
}

function addText(
  found: HiddenPart[],
  text: string,
  start: number,
  end: number,
  transform: string,
  joined: boolean,
): boolean {
  if (end - start < (joined ? 1 : 4) || !/\S/.test(text.slice(start, Math.min(end, start + 4096)))) return false;
  found.push({ start, end, transform, joined });
  return true;
}

function addAttributes(found: HiddenPart[], text: string, attributes: readonly Attribute[]): void {
  for (const { name, start, end } of attributes) {
    if (end - start < MIN_TEXT) continue;
    if (WORDY.has(name) || name.startsWith('data-') || (name === 'value' && isHiddenInput(text, attributes))) {
      found.push({ start, end, transform: 'html-attribute' });
    }
  }
}

function isHiddenInput(text: string, attributes: readonly Attribute[]): boolean {
  return attributes.some(
    ({ name, start, end }) => name === 'type' && text.slice(start, end).toLowerCase() === 'hidden',
  );
}

function isHidden(
  text: string,
  tag: Markup,
  attributes: readonly Attribute[],
  selectors: ReadonlySet<string>,
): boolean {
  return attributes.some(({ name, start, end }) => {
    const value = text.slice(start, Math.min(end, start + 4096));
    if (name === 'hidden') return value.toLowerCase() !== 'false';
    if (name === 'aria-hidden') return value.toLowerCase() === 'true';
    if (name === 'style') return isInvisibleStyle(value);
    if (name === 'color' && tag.name === 'font') return isInvisibleStyle(`color:${value}`);
    if (name === 'size' && tag.name === 'font') return value === '0';
    if (name === 'class' && selectors.size > 0) return value.split(/\s+/).some((one) => selectors.has(`.${one}`));
    return name === 'id' && selectors.has(`#${value}`);
  });
}

/** Each with signs of which a text must hold one: plain links, the commonest markup, are then asked of no pattern. */
const PATTERNS: readonly (readonly [transform: string, pattern: RegExp, signs: readonly string[]])[] = [
  ['markdown-alt', /!\[([^[\]\n]{8,2000})\]/dg, ['![']],
  ['markdown-title', /\]\([^()\s]{0,2000}[ \t]{1,8}["']([^"'\n]{8,2000})["']\)/dg, ['")', "')"]],
  ['markdown-definition', /^[ \t]{0,3}\[[^[\]\n]{1,200}\]:[ \t]*(\S[^\n]{7,})$/dgm, [']:']],
];

/** Image descriptions, link titles, and reference definitions, which Markdown never shows (`[//]: # (text)`). */
function markdownHidden(text: string): readonly HiddenPart[] {
  const found: HiddenPart[] = [];
  for (const [transform, pattern, signs] of PATTERNS) {
    if (!signs.some((sign) => text.includes(sign))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start = 0, end = 0] = match.indices?.[1] ?? [];
      if (end > start) found.push({ start, end, transform });
    }
  }
  return found;
}

const INVISIBLE =
  /display:none|visibility:(?:hidden|collapse)|font-size:(?:0(?![.]?0*[1-9])|0?\.\d|1px)|opacity:(?:0(?![.]?0*[1-9])|0?\.0)|(?:left|right|top|bottom|text-indent|margin-left|margin-top):-\d{3,}|(?:^|;)(?:max-)?(?:width|height):[01](?:px|em)?(?:;|$)|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%|scale\(0(?:,0)?\)|(?:^|;)color:transparent|mso-hide:all/;

const COLOR = /(?:^|;)color:([^;!]+)/;
const BACKGROUND = /(?:^|;)background(?:-color)?:([^;!]+)/;
const WHITE = /^(?:#fff(?:fff)?|white|rgba?\(255,255,255(?:,[\d.]+)?\)|#fefefe|#fdfdfd|snow|ivory)$/;

/** True when a `style` attribute hides its element, or writes in the colour of the ground. */
function isInvisibleStyle(value: string): boolean {
  const style = value.toLowerCase().replace(/\s+|!important/g, '');
  if (INVISIBLE.test(style)) return true;
  const color = COLOR.exec(style)?.[1];
  if (color === undefined) return false;
  const background = BACKGROUND.exec(style)?.[1];
  return background === undefined ? WHITE.test(color) : background === color;
}

const RULE = /(?<=^|[{}])([^{}]*)\{([^{}]*)\}/g;
const SIMPLE = /([.#])([\w-]{1,80})\s*$/;

/** Adds the classes (`.name`) and ids (`#name`) that a style sheet hides. */
function hiddenSelectors(sheet: string, found: Set<string>): void {
  for (const [, selectors = '', body = ''] of sheet.matchAll(RULE)) {
    if (!isInvisibleStyle(body)) continue;
    for (const selector of selectors.split(',')) {
      const match = SIMPLE.exec(selector);
      if (match !== null) found.add(`${match[1]}${match[2]}`);
    }
  }
}
