import type { HiddenPart } from './hidden-part.js';

/** Each with signs of which a text must hold one: plain links, the commonest markup, are then asked of no pattern. */
const PATTERNS: readonly (readonly [transform: string, pattern: RegExp, signs: readonly string[]])[] = [
  ['markdown-alt', /!\[([^[\]\n]{8,2000})\]/dg, ['![']],
  ['markdown-title', /\]\([^()\s]{0,2000}[ \t]{1,8}["']([^"'\n]{8,2000})["']\)/dg, ['")', "')"]],
  ['markdown-definition', /^[ \t]{0,3}\[[^[\]\n]{1,200}\]:[ \t]*(\S[^\n]{7,})$/dgm, [']:']],
];

/** Image descriptions, link titles, and reference definitions, which Markdown never shows (`[//]: # (text)`). */
export function markdownHidden(text: string): readonly HiddenPart[] {
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
