import { fold } from '../text/fold.js';

/** Folds a pattern's literal the way the folded views fold text. */
export function foldLiteral(text: string): string {
  return fold(text).text;
}
