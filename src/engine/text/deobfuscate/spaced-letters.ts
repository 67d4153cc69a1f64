import { edgeBefore, type Span } from '../../span.js';
import { DIGIT, isKind, LETTER } from '../char-kinds.js';
import { DROP, FOLD, NEWLINE, SPACE } from '../normalize/fold-table.js';
import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';

/** Fewer single letters in a row are initials or a formula. */
const MIN_LETTERS = 5;
/** Fewer different characters spell no words. */
const MIN_DISTINCT = 5;
/** Longer separators part two thoughts, not two letters. */
const MAX_SEPARATOR = 7;

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/** Separators between the items of a list or the parts of a formula. */
const LIST = /^, |[=+<>()[\]{}:;&%!?]/;

interface Single {
  readonly start: number;
  readonly end: number;
  readonly letter: boolean;
}

/**
 * Reads spaced-out words (`i g n o r e`, `i-g-n-o-r-e`, `i -_- g`): what stands between two letters goes, what
 * stands between two words becomes a space. A separator that is longer or more of a gap than the usual one of its row
 * parts words. `singleRows` are the offsets where rows of single letters begin.
 */
export function joinSpacedLetters(text: string, { singleRows }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  let read = 0;
  for (const from of singleRows) {
    if (from < read) continue;
    const row = readRow(text, from);
    read = (row.at(-1)?.end ?? from) + 1;
    if (row.length < MIN_LETTERS || row.filter((single) => single.letter).length * 2 < row.length) continue;
    joinRow(text, row, found);
  }
  return found;
}

/** The rows that `joinSpacedLetters` reads, from the first letter of each to its last; not those that flood a text with one letter. */
export function spacedRows(text: string, features: Features): readonly Span[] {
  const rows: { start: number; end: number }[] = [];
  for (const separator of joinSpacedLetters(text, features)) {
    const start = edgeBefore(text, separator.start - 1);
    const end = separator.end + letterSize(text, separator.end);
    const row = rows.at(-1);
    // The separators of a row stand one letter apart.
    if (row !== undefined && start < row.end) row.end = end;
    else rows.push({ start, end });
  }
  return rows.filter((row) => new Set(text.slice(row.start, row.end)).size >= MIN_DISTINCT);
}

/** The single letters that follow one another from `from` on. */
function readRow(text: string, from: number): readonly Single[] {
  const row: Single[] = [];
  let end = from;
  for (let i = from; i < text.length && i - end <= MAX_SEPARATOR; ) {
    const size = letterSize(text, i);
    if (size === 0) {
      i += 1;
      continue;
    }
    let next = i + size;
    while (next < text.length && FOLD[text.charCodeAt(next)] === DROP) next += 1;
    if (letterSize(text, next) > 0) break;
    row.push({ start: i, end: i + size, letter: text.charCodeAt(i) > 0x39 });
    end = next;
    i = next;
  }
  return row;
}

/** Units of the letter or digit at `i`, 0 when there is none. */
function letterSize(text: string, i: number): number {
  const unit = text.charCodeAt(i);
  if (unit < 0x80) return isKind(unit, LETTER | DIGIT) || unit === 0x40 || unit === 0x24 ? 1 : 0;
  if (!(unit >= 0xa0)) return 0;
  if ((unit & 0xfc00) === 0xd800) {
    const codePoint = text.codePointAt(i) ?? 0;
    return (codePoint >= 0x1f110 && codePoint <= 0x1f1ff) || LETTER_OR_DIGIT.test(String.fromCodePoint(codePoint))
      ? 2
      : 0;
  }
  return LETTER_OR_DIGIT.test(text.charAt(i)) ? 1 : 0;
}

function joinRow(text: string, row: readonly Single[], found: Replacement[]): void {
  const separators: string[] = [];
  const counts = new Map<string, number>();
  for (let i = 0; i + 1 < row.length; i += 1) {
    const separator = visible(text.slice(row[i]?.end, row[i + 1]?.start));
    separators.push(separator);
    counts.set(separator, (counts.get(separator) ?? 0) + 1);
  }
  let usual = separators[0] ?? '';
  for (const [separator, count] of counts) if (count > (counts.get(usual) ?? 0)) usual = separator;
  if (LIST.test(usual) || (counts.get(usual) ?? 0) * 2 < separators.length) return;
  for (const [i, separator] of separators.entries()) {
    const start = row[i]?.end ?? 0;
    const end = row[i + 1]?.start ?? start;
    found.push({ start, end, text: isGap(separator, usual) ? ' ' : '', transform: 'spaced' });
  }
}

function isGap(separator: string, usual: string): boolean {
  if (separator === usual) return false;
  const white = /[ \n]/.test(separator);
  if (white && !/[ \n]/.test(usual)) return true;
  // "i - g   n": nothing but white where the usual separator has a sign.
  if (white && separator.trim() === '' && usual.trim() !== '') return true;
  return separator.length > usual.length;
}

/** The separator without invisibles, each kind of white space as ' ' or '\n'. */
function visible(separator: string): string {
  if (separator.length === 1 && FOLD[separator.charCodeAt(0)] === 0) return separator;
  let out = '';
  for (let i = 0; i < separator.length; i += 1) {
    const folded = FOLD[separator.charCodeAt(i)];
    if (folded === SPACE) out += ' ';
    else if (folded === NEWLINE) out += '\n';
    else if (folded !== DROP) out += separator.charAt(i);
  }
  return out;
}
