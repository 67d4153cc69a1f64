import type { Replacement } from '../replacement.js';

const BREAK = /(?<=[a-zà-öø-ÿ])[-\u00ad\u2010]\r?\n[ \t]{0,16}(?=[a-zà-öø-ÿ])/g;

/** Joins words that a line break parts (`instruc-\ntions`). */
export function squeezeHyphenation(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(BREAK)) {
    found.push({ start: match.index, end: match.index + match[0].length, text: '', transform: 'hyphenation' });
  }
  return found;
}
