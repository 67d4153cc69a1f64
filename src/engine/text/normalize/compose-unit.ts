import { type Rewrite, replaceSpan } from '../rewrite.js';
import { DROP, FIRST_CLASS, FOLD, FOLD_LONG, JOIN, MARK } from './fold-table.js';

/**
 * A longer run of marks is nobody's spelling, and `normalize` is quadratic on it.
 * @see UAX #15, section 13, Stream-Safe Text Format
 */
const MAX_MARKS = 30;

/** Normalises one letter with the marks and joining signs after it; gives where they end. */
export function composeUnit(rewrite: Rewrite, from: number): number {
  const { source } = rewrite;
  let unit = source.charAt(from);
  let to = from + 1;
  for (let marks = 0; to < source.length; to += 1) {
    const folded = FOLD[source.charCodeAt(to)] as number;
    if (folded === DROP) continue;
    if (folded !== MARK && folded !== JOIN) break;
    if (marks < MAX_MARKS) unit += source.charAt(to);
    marks += 1;
  }
  const composed = foldEach(unit.normalize('NFKC').toLowerCase());
  if (composed !== source.slice(from, to)) replaceSpan(rewrite, from, to, composed);
  return to;
}

/** Folds each unit for itself: after NFKC nothing joins any more. */
function foldEach(text: string): string {
  let out = '';
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    const folded = FOLD[unit] as number;
    if (folded === 0 || folded === MARK || folded === JOIN) out += text.charAt(i);
    else if (folded < FIRST_CLASS) out += String.fromCharCode(folded);
    else out += FOLD_LONG.get(unit) ?? '';
  }
  return out.slice(0, MAX_MARKS + 18);
}
