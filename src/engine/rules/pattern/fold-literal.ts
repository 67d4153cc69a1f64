import { fold } from '../../text/normalize/fold.js';

/** Folds a pattern's literal the way the folded views fold text. */
export function foldLiteral(text: string): string {
  return fold(text).text;
}
