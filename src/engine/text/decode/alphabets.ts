import { DIGIT, isKind, LETTER } from '../char-kinds.js';
import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { RADIO } from './cipher-words.js';
import { type CodeRowSyntax, findCodeRows, partsAround } from './code-rows.js';

/** Dots and dashes of the longest letter; more are a line or a table. */
const MAX_MORSE = 7;
const MIN_MORSE_LETTERS = 8;
const MORSE_PART = /([.\-·•−–—_]+)|[^.\-·•−–—_]+/g;

const MORSE: ReadonlyMap<string, string> = new Map(
  (
    'a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- u..- v...- w.-- ' +
    'x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. ,--..-- ?..--.. !-.-.-- ' +
    "'.----. /-..-. :---... =-...- +.-.-."
  )
    .split(' ')
    .map((code) => [code.slice(1), code.charAt(0)]),
);

/** Reads Morse code: letters separated by a space, words by a slash, a line break or several spaces. */
export function decodeMorse(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let at = 0; at < text.length; ) {
    if (!isMorse(text, at)) {
      at += 1;
      continue;
    }
    if (at > 0 && (text.charCodeAt(at - 1) === 0x2f || isWordUnit(text.charCodeAt(at - 1)))) {
      at = morseEnd(text, at);
      continue;
    }
    const { end, letters, next } = morseRun(text, at);
    const read = letters < MIN_MORSE_LETTERS ? undefined : readMorse(text.slice(at, end), at);
    if (read !== undefined) found.push(read);
    at = next;
  }
  return found;
}

interface MorseRun {
  readonly end: number;
  readonly letters: number;
  /** Offset from which on the next run is sought. */
  readonly next: number;
}

/** The letters that follow one another from an offset on. */
function morseRun(text: string, from: number): MorseRun {
  let letters = 0;
  let end = from;
  for (let at = from; ; ) {
    const to = morseEnd(text, at);
    const next = to - at <= MAX_MORSE ? afterGap(text, to) : 0;
    if (next === 0) {
      // A full stop or a line may follow the last letter directly.
      let cut = Math.min(to, at + MAX_MORSE);
      while (cut > at && isWordUnit(text.charCodeAt(cut))) cut -= 1;
      return cut > at ? { end: cut, letters: letters + 1, next: to } : { end, letters, next: to };
    }
    letters += 1;
    end = to;
    at = next;
  }
}

function morseEnd(text: string, from: number): number {
  let end = from;
  while (isMorse(text, end)) end += 1;
  return end;
}

/** Returns the offset of the letter after the gap at an offset; 0 without a gap or a letter. */
function afterGap(text: string, from: number): number {
  let at = skipBlanks(text, from);
  const blanks = at - from;
  const unit = text.charCodeAt(at);
  if (unit === 0x2f || unit === 0x7c || unit === 0x0a) at = skipBlanks(text, at + 1);
  else if (blanks === 0 || blanks > 8) return 0;
  return isMorse(text, at) ? at : 0;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 0x20 || text.charCodeAt(at) === 0x09) at += 1;
  return at;
}

/** As `\w` has it. */
function isWordUnit(unit: number): boolean {
  return isKind(unit, LETTER | DIGIT) || unit === 0x5f;
}

function isMorse(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return unit === 0x2e || unit === 0x2d || unit === 0x5f;
  return unit === 0xb7 || unit === 0x2022 || unit === 0x2212 || unit === 0x2013 || unit === 0x2014;
}

function readMorse(run: string, start: number): Replacement | undefined {
  let text = '';
  const starts: number[] = [];
  let unknown = 0;
  let mixed = 0;
  const letters = new Set<string>();
  for (const match of run.matchAll(MORSE_PART)) {
    const [piece, sign] = match;
    if (sign === undefined && piece.length < 3 && !/[/|\n]/.test(piece)) continue;
    const code = sign?.replace(/[·•]/g, '.').replace(/[−–—_]/g, '-');
    const letter = code === undefined ? ' ' : (MORSE.get(code) ?? (code === '.-.-.-' ? '.' : undefined));
    if (letter === undefined) unknown += 1;
    else letters.add(letter);
    if (code?.includes('.') && code.includes('-')) mixed += 1;
    text += letter ?? '?';
    starts.push(start + match.index);
  }
  // Rows of dots and dashes that draw a line or a table have few letters, and each of dots or of dashes alone.
  if (unknown * 10 > text.length || letters.size < 5 || mixed * 5 < text.length) return undefined;
  return { start, end: start + run.length, text, starts, transform: 'morse' };
}

const MIN_CELLS = 4;
/** Dots of a..z in order, as offsets from U+2800. */
const LETTERS =
  '\x01\x03\x09\x19\x11\x0b\x1b\x13\x0a\x1a\x05\x07\x0d\x1d\x15\x0f\x1f\x17\x0e\x1e\x25\x27\x3a\x2d\x3d\x35';
const SIGNS: ReadonlyMap<number, string> = new Map([
  [0x02, ','],
  [0x32, '.'],
  [0x26, '?'],
  [0x16, '!'],
  [0x04, "'"],
  [0x24, '-'],
  [0x12, ':'],
]);

/** Reads uncontracted Braille. */
export function decodeBraille(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let start = 0; start < text.length; ) {
    if (!isCell(text.charCodeAt(start))) {
      start += 1;
      continue;
    }
    let end = start + 1;
    let cells = 1;
    for (let i = end; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      if (isCell(unit)) {
        cells += 1;
        end = i + 1;
      } else if (unit !== 0x2800 && unit !== 0x20 && unit !== 0x0a) break;
    }
    if (cells >= MIN_CELLS) found.push(readBraille(text, start, end));
    start = end;
  }
  return found;
}

/** A cell of six dots, the blank one aside. */
function isCell(unit: number): boolean {
  return unit > 0x2800 && unit <= 0x283f;
}

function readBraille(text: string, start: number, end: number): Replacement {
  let read = '';
  const starts: number[] = [];
  for (let i = start; i < end; i += 1) {
    const dots = text.charCodeAt(i) - 0x2800;
    const letter = LETTERS.indexOf(String.fromCharCode(dots));
    if (dots <= 0) read += ' ';
    else if (letter >= 0) read += String.fromCharCode(0x61 + letter);
    else if (SIGNS.has(dots)) read += SIGNS.get(dots);
    else continue;
    starts.push(i);
  }
  return { start, end, text: read, starts, transform: 'braille' };
}

const RADIO_WORDS =
  'alfa|alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiskey|x-?ray|yankee|zulu';
const RADIO_WORD = new RegExp(`(?:${RADIO_WORDS})(?!\\w)`, 'iy');
/** Longer than any word of it with its separators. */
const RADIO_REACH = 16;
const RADIO_ROWS: CodeRowSyntax = {
  codeEnd(text, at) {
    RADIO_WORD.lastIndex = at;
    return RADIO_WORD.test(text) ? RADIO_WORD.lastIndex : 0;
  },
  beginsAfter: (unit) => !isWordUnit(unit),
  separators: ' ,./|\n-',
  maxGap: 4,
  minCodes: 4,
};

/** Reads words that are spelt in the radio alphabet (India Golf November ...). */
export function decodeRadioAlphabet(text: string, { tagged }: Features): readonly Replacement[] {
  const places = tagged.filter((_, i) => tagged[i + 1] === RADIO && i % 2 === 0);
  return findCodeRows(text, partsAround(text, places, RADIO_REACH), RADIO_ROWS).map(({ starts: words, ends }) => {
    let read = '';
    const starts: number[] = [];
    for (const [i, word] of words.entries()) {
      // A slash, a bar or a line break between two words of the alphabet separates two words of the text.
      const before = ends[i - 1];
      if (before !== undefined && /[/|\n]/.test(text.slice(before, word))) {
        read += ' ';
        starts.push(before);
      }
      read += text.charAt(word);
      starts.push(word);
    }
    return { start: words[0] as number, end: ends.at(-1) as number, text: read, starts, transform: 'radio-alphabet' };
  });
}

const TURNED_LETTERS = 'ɐqɔpǝɟƃɓɥᴉıɾʞןɯuodbɹsʇnʌʍxʎz¿¡˙ʻ';
const PLAIN_LETTERS = 'abcdefgghiijklmnopqrstuvwxyz?!.,';
const TURNED: ReadonlyMap<string, string> = new Map(
  [...TURNED_LETTERS].map((letter, i) => [letter, PLAIN_LETTERS.charAt(i)]),
);
// Each line is read once: a pattern with such a letter in it would read long lines again and again.
const LINE = /[^\n]+/g;
const SURE = /[ɐɔǝɟƃɥɾʞɯɹʇʌʍʎ]/g;

/** Reads lines that are written upside down, which run backwards. */
export function decodeUpsideDown(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(LINE)) {
    const [line] = match;
    // Phonetic script has some of these letters among plain ones.
    if ((line.match(SURE)?.length ?? 0) < Math.max(4, line.length / 8)) continue;
    const turned = [...line].reverse().map((letter) => TURNED.get(letter.toLowerCase()) ?? letter);
    const read = turned.join('');
    const start = match.index;
    // It runs backwards, so that no part of it has a place of its own: each unit stands for the line.
    const starts = new Array<number>(read.length).fill(start);
    found.push({ start, end: start + line.length, text: read, starts, transform: 'upside-down' });
  }
  return found;
}
