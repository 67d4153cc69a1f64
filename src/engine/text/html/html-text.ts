import { finishRewrite, type Rewritten, replaceSpan, startRewrite } from '../rewrite.js';
import type { Markup } from './html-tags.js';

/** Elements that stand within a line: to take their tags away joins what they part (`ig<b>no</b>re`). */
const INLINE = new Set(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
const UNSHOWN = new Set(['script', 'style', 'template', 'noscript', 'noframes', 'iframe']);

/** The text of an HTML document without its markup: what its reader sees, and what the reader doesn't but for attributes, comments and scripts. */
export function htmlText(text: string, tags: readonly Markup[]): Rewritten {
  const rewrite = startRewrite(text);
  let unshown = '';
  for (const tag of tags) {
    if (unshown !== '' && !(tag.type === 'close' && tag.name === unshown)) continue;
    const from = unshown === '' ? tag.start : rewrite.read;
    replaceSpan(rewrite, from, tag.end, INLINE.has(tag.name) || tag.type === 'comment' ? '' : '\n');
    unshown = tag.type === 'open' && UNSHOWN.has(tag.name) && hasClose(text, tag) ? tag.name : '';
  }
  return finishRewrite(rewrite);
}

function hasClose(text: string, open: Markup): boolean {
  return text.charCodeAt(open.innerEnd - 1) !== 0x2f;
}
