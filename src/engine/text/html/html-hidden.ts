import type { HiddenPart } from './hidden-part.js';
import { type Attribute, htmlAttributes } from './html-attributes.js';
import type { Markup } from './html-tags.js';
import { hiddenSelectors, isInvisibleStyle } from './invisible-style.js';

/** Elements whose content is not shown. */
const UNSHOWN = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'noframes',
  'noembed',
  'xmp',
  'iframe',
  'datalist',
]);
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
export function htmlHidden(text: string, tags: readonly Markup[]): readonly HiddenPart[] {
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
      if (leaf) continue;
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
