import { BRACKET, LESS } from '../char-kinds.js';
import { finishRewrite, type Rewritten, replaceSpan, startRewrite } from '../rewrite.js';
import { JOINT } from '../splice.js';
import type { HiddenPart } from './hidden-part.js';
import { htmlHidden } from './html-hidden.js';
import type { Markup } from './html-tags.js';
import { markdownHidden } from './markdown-hidden.js';

/** The hidden parts of one kind, as one text. */
export interface HiddenText {
  readonly transform: string;
  readonly made: Rewritten;
}

/** What a text hides, by kind of hiding place; parts that did not follow one another are kept apart by a joint. */
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
  return [...kinds].map(([transform, same]) => ({ transform, made: extract(text, same) }));
}

function extract(text: string, parts: readonly HiddenPart[]): Rewritten {
  const rewrite = startRewrite(text);
  let read = 0;
  let first = true;
  for (const { start, end, joined } of parts) {
    if (start < read) continue;
    replaceSpan(rewrite, read, start, first ? '' : joined === true ? ' ' : JOINT);
    read = end;
    first = false;
  }
  replaceSpan(rewrite, read, text.length, '');
  return finishRewrite(rewrite);
}
