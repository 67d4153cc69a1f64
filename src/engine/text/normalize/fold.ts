import { codePointRanges } from '../../span.js';
import { finishRewrite, type Rewrite, type Rewritten, replaceSpan, startRewrite } from '../rewrite.js';
import {
  DROP,
  FIRST_CLASS,
  FOLD,
  FOLD_JOINS,
  FOLD_LONG,
  fillTable,
  JOIN,
  MARK,
  NEWLINE,
  readRuns,
  SPACE,
} from './fold-table.js';
import { CONFUSABLE_ASTRAL_RUNS, CONFUSABLE_RUNS } from './generated/confusable-runs.js';

const ESCAPE = 0x1b;
/**
 * A longer run of marks is nobody's spelling, and `normalize` is quadratic on it.
 * @see UAX #15, section 13, Stream-Safe Text Format
 */
const MAX_MARKS = 30;

/**
 * Folds a well-formed text: NFKC, lower case, marks of Latin, Greek, Cyrillic, Arabic and Hebrew dropped, Latin
 * letters brought to ASCII, invisibles and bidi controls dropped, each run of white space one ' ' or (with a line
 * break in it) '\n', confusables read as ASCII in words that mix scripts. One pass, linear; mark runs are capped at 30, so no
 * normalisation is ever asked for more than 31 code points.
 */
export function fold(text: string): Rewritten {
  const lower = lowerCase(text);
  const rewrite = startRewrite(lower);
  let ascii = true;
  for (let i = 0; i < lower.length; ) {
    const unit = lower.charCodeAt(i);
    const folded = FOLD[unit] as number;
    if (unit >= 0x80) ascii = false;
    if (folded === 0) i += (unit & 0xfc00) === 0xd800 ? foldPair(rewrite, i) : 1;
    else if (unit === 0x20 && (FOLD[lower.charCodeAt(i + 1)] as number) < NEWLINE) i += 1;
    else if (folded === SPACE || folded === NEWLINE) i = foldSpace(rewrite, i);
    else i = foldUnit(rewrite, i, unit, folded);
  }
  const done = finishRewrite(rewrite);
  return ascii ? done : { text: readConfusables(done.text), map: done.map };
}

/** The fold of an ASCII text; `spaces` are the places where white space or controls change. */
export function foldAscii(text: string, spaces: readonly number[]): Rewritten {
  const lower = text.toLowerCase();
  const rewrite = startRewrite(lower);
  for (const place of spaces) {
    let at = place;
    // The run begins before the place that shows it, but never before what was replaced already.
    while (at > rewrite.read && (FOLD[lower.charCodeAt(at - 1)] as number) >= NEWLINE) at -= 1;
    at = Math.max(at, rewrite.read);
    while (at <= place) at = FOLD[lower.charCodeAt(at)] === DROP ? dropRun(rewrite, at) : foldSpace(rewrite, at);
  }
  return finishRewrite(rewrite);
}

/** Lower case unit by unit: 'İ' alone would grow. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replaceAll('İ', 'I').toLowerCase();
}

/** Folds a surrogate pair; gives the units read. */
function foldPair(rewrite: Rewrite, at: number): number {
  const folded = foldAstral(rewrite.source.codePointAt(at) ?? 0);
  if (folded !== undefined) replaceSpan(rewrite, at, at + 2, folded);
  return 2;
}

/** Folds a run of white space and the invisibles in it; gives where it ends. */
function foldSpace(rewrite: Rewrite, from: number): number {
  const { source } = rewrite;
  let to = from;
  let space = ' ';
  for (let i = from; i < source.length; i += 1) {
    const unit = source.charCodeAt(i);
    const folded = FOLD[unit] as number;
    if (folded < NEWLINE || unit === ESCAPE) break;
    if (folded === NEWLINE) space = '\n';
    if (folded !== DROP) to = i + 1;
  }
  if (to > from + 1 || source.charCodeAt(from) !== space.charCodeAt(0)) replaceSpan(rewrite, from, to, space);
  return to;
}

function foldUnit(rewrite: Rewrite, at: number, unit: number, folded: number): number {
  const { source } = rewrite;
  if (folded === DROP) return dropRun(rewrite, at);
  if (folded === MARK || folded === JOIN) return foldMark(rewrite, at, unit, folded);
  const next = FOLD[source.charCodeAt(at + 1)] as number;
  if ((next === MARK || next === JOIN) && at + 1 < source.length) return composeUnit(rewrite, at);
  replaceSpan(rewrite, at, at + 1, folded < FIRST_CLASS ? String.fromCharCode(folded) : (FOLD_LONG.get(unit) ?? ''));
  return at + 1;
}

function dropRun(rewrite: Rewrite, from: number): number {
  const { source } = rewrite;
  let to = from;
  while (to < source.length && FOLD[source.charCodeAt(to)] === DROP)
    to = source.charCodeAt(to) === ESCAPE ? escapeEnd(source, to) : to + 1;
  replaceSpan(rewrite, from, to, '');
  return to;
}

/** A terminal's colour and cursor codes show no more than their escape character. @see ECMA-48, section 5.4 */
function escapeEnd(source: string, from: number): number {
  if (source.charCodeAt(from + 1) !== 0x5b) return from + 1;
  let to = from + 2;
  while (to < from + 32 && source.charCodeAt(to) >= 0x20 && source.charCodeAt(to) <= 0x3f) to += 1;
  const final = source.charCodeAt(to);
  return final >= 0x40 && final <= 0x7e ? to + 1 : from + 1;
}

/** A mark after a letter that stood for itself: most stay as they are. */
function foldMark(rewrite: Rewrite, at: number, unit: number, folded: number): number {
  const { source } = rewrite;
  const before = at > rewrite.read ? source.charCodeAt(at - 1) : 0;
  const next = at + 1 < source.length ? (FOLD[source.charCodeAt(at + 1)] as number) : 0;
  const alone = folded === JOIN || (next !== MARK && next !== DROP);
  if (alone && !FOLD_JOINS.has((before << 16) | unit) && !(before >= 0x1100 && before < 0x1200)) return at + 1;
  return composeUnit(rewrite, before === 0 || (before & 0xf800) === 0xd800 ? at : at - 1);
}

/** Normalises one letter with the marks and joining signs after it; gives where they end. */
function composeUnit(rewrite: Rewrite, from: number): number {
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

/** Blocks beyond the BMP whose characters are compatibility forms of others. */
const COMPATIBLE = codePointRanges(
  '1d400-1d7ff 10780-107bf 1e030-1e06f 1ee00-1eeff 1f100-1f1ff 1fbf0-1fbf9 2f800-2fa1f',
);
/** Blocks that are dropped: tags and variation selectors, controls of shorthand and of music. */
const DROPPED = codePointRanges('e0000-e0fff 1bca0-1bca3 1d173-1d17a');
/** First letters of the alphabets in circles and squares, and of the regional indicators of flags. */
const ENCLOSED = [0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6];

/** The fold of a code point beyond the BMP; '' drops it, undefined leaves it as it is (emoji do). */
function foldAstral(codePoint: number): string | undefined {
  const isIn = (ranges: typeof COMPATIBLE): boolean =>
    ranges.some(([first, last]) => codePoint >= first && codePoint <= last);
  if (isIn(DROPPED)) return '';
  if (!isIn(COMPATIBLE)) return ASTRAL_CONFUSABLES.get(codePoint);
  const enclosed = ENCLOSED.find((first) => codePoint >= first && codePoint < first + 26);
  if (enclosed !== undefined) return String.fromCharCode(0x61 + codePoint - enclosed);
  const character = String.fromCodePoint(codePoint);
  const folded = character.normalize('NFKC').toLowerCase();
  // Dotless i and j, and final sigma among the mathematical letters.
  const settled = folded === 'ı' ? 'i' : folded === 'ȷ' ? 'j' : folded === 'ς' ? 'σ' : folded;
  return settled === character ? undefined : settled;
}

/** For each code unit the ASCII letter or digit that it looks like; 0 none. @see UTS #39, section 4 */
const CONFUSABLE: Uint8Array = fillTable(new Uint8Array(0x10000), CONFUSABLE_RUNS);

/** Letters of rare scripts beyond the BMP that look like ASCII ones: no benign Latin word has them. */
const ASTRAL_CONFUSABLES: ReadonlyMap<number, string> = readAstral();

/**
 * Reads confusables of other scripts as ASCII, in words that mix them with Latin letters and, where the text around is
 * mostly Latin, in words made of nothing else. Offsets stay the same. `text` is folded.
 */
function readConfusables(text: string): string {
  let latin = 0;
  let confusable = 0;
  let other = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x61 && unit <= 0x7a) latin += 1;
    else if (unit < 0xc0) continue;
    else if (CONFUSABLE[unit] !== 0) confusable += 1;
    else if (isLetter(unit)) other += 1;
  }
  if (confusable === 0 || latin === 0) return text;
  return readWords(text, latin > 2 * (confusable + other));
}

function readWords(text: string, mostlyLatin: boolean): string {
  let out = '';
  let read = 0;
  for (let from = 0; from < text.length; ) {
    let to = from;
    let latin = 0;
    let confusable = 0;
    let other = 0;
    for (; to < text.length; to += 1) {
      const unit = text.charCodeAt(to);
      if (unit >= 0x61 && unit <= 0x7a) latin += 1;
      else if (unit < 0xc0) {
        if (unit < 0x30 || unit > 0x39) break;
      } else if (CONFUSABLE[unit] !== 0) confusable += 1;
      else if (isLetter(unit)) other += 1;
      else break;
    }
    if (confusable > 0 && (latin > 0 ? other <= latin + confusable : mostlyLatin && other === 0)) {
      out += text.slice(read, from) + asAscii(text, from, to);
      read = to;
    }
    from = to + 1;
  }
  return read === 0 ? text : out + text.slice(read);
}

function asAscii(text: string, from: number, to: number): string {
  let word = '';
  for (let i = from; i < to; i += 1) {
    const confusable = CONFUSABLE[text.charCodeAt(i)] as number;
    word += confusable === 0 ? text.charAt(i) : String.fromCharCode(confusable);
  }
  return word;
}

/** Letters and marks below the general punctuation, and those of the later blocks but for signs. Rough on purpose. */
function isLetter(unit: number): boolean {
  return unit < 0x2000 || (unit >= 0x2c00 && unit < 0x2e00) || unit >= 0x3040;
}

function readAstral(): ReadonlyMap<number, string> {
  const table = new Map<number, string>();
  readRuns(CONFUSABLE_ASTRAL_RUNS, (codePoint, target) => table.set(codePoint, String.fromCharCode(target)));
  return table;
}
