import { fold } from './fold.js';
import { wellFormed } from './well-formed.js';

/** The fold of a short text, for what is compared with folded views (pattern literals, words). No offsets. */
export function foldText(text: string): string {
  return fold(wellFormed(text)).text;
}
