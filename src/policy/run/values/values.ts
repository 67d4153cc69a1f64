/** Finds the values in a folded text that lead somewhere: addresses, accounts, files, secrets; and words in a row. */
import type { Span } from '../../../engine/span.js';
import type { Value, ValueKind } from '../run-state.js';
import type { FoldedView } from './folded.js';
import { phoneForms } from './value-forms.js';

const TOKEN = /[^\s"'`<>()[\]{}|;,*]+/g;
const PIECE = /[^=&?#]+/g;
/** Clients take any slashes, or none, after the scheme of the web. */
const SCHEME = /(?<!\w)(?:https?|wss?|ftp):[\\/]*|:\/\//g;
const IP =
  /(?<=^|[\s\\/@:])\[[\da-f:.]{2,45}\]|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)|(?<![\w:.[])(?=[a-f:]*\d)[\da-f]{1,4}:(?:[\da-f]{0,4}:){1,6}[\da-f]{0,4}(?![\w:\]])/g;
/** A host of numbers alone is an IP address, in whatever form. */
const NUMBERS = /^(?:\[.*\]|(?:(?:\d+|0x[\da-f]*)\.){0,3}(?:\d+|0x[\da-f]*))$/;
/** An IPv4 address as one of IPv6. */
const MAPPED = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/;
const DOMAIN = /^(?:[\p{L}\p{N}_-]{1,63}\.){1,8}(?:\p{L}{2,24}|xn--[\da-z-]{2,59})$/u;
/** The host of a mail address, whatever signs or sentence follow it. */
const MAIL_HOST =
  /^(?:[\p{L}\p{N}_-]{1,63}\.){1,8}(?:xn--[\da-z-]{2,59}|\p{L}{2,24})(?![\p{L}\p{N}]|\.\p{L}[\p{L}\p{N}_-])/u;
const HANDLE = /^@[\p{L}\p{N}_.]{2,40}$/u;
const ADDRESS_PART = /[\p{L}\p{N}._+-]/u;
const ROOTED = /^(?:~|\.{1,2}|[a-z]:)?[\\/][^\\/]/;
const EXTENSION = /\.[a-z]\w{0,4}$/;
const FILE_TYPES = new Set(
  'txt md pdf doc docx xls xlsx csv ppt pptx json yaml yml xml html htm js ts tsx jsx py rb go rs java c h cpp sh bat ps1 sql log ini cfg conf env toml lock png jpg jpeg gif svg webp mp3 mp4 zip gz tar bak key pem db'.split(
    ' ',
  ),
);
const SECRET = /^[\w+/=.~-]{16,200}$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;
const WALLET = /^(?:0x[\da-f]{40}|(?:bc1|ltc1)[a-z\d]{20,60}|[13][a-z\d]{25,34})$/;
const IBAN = /(?<![a-z\d])[a-z]{2}\d{2}(?: ?[a-z\d]{4}){2,7}(?: ?[a-z\d]{1,3})?(?![a-z\d])/g;
const DATE = /^(?:19|20)\d\d[-./ ]?\d{1,2}[-./ ]?\d{1,2}(?!\d)|^\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)?\d\d(?!\d)/;
/** Numbers of phones in France or Norway look like dates. */
const PAIRS = /^\d\d([ .])\d\d(?:\1\d\d){2,3}$/;
const NUMBER_GAP = /^[ .()/-]{1,2}$/;
/** Digits of a number. */
const MIN_DIGITS = 7;
const MAX_DIGITS = 24;
const MAX_PHONE = 15;
/** Fewer in one group of a phone number are those behind its area code, which others share. */
const MIN_IN_PHONE = 9;
/** Behind the number of an item in a list. */
const ITEM_GAP = /^(?:\. |\) ?)$/;
/** Within a number that begins as those of phones do. */
const PHONE_GAP = /^ [/-] $/;

export interface PlacedValue {
  readonly value: Value;
  readonly span: Span;
  /** Its part of the text. */
  readonly written: string;
}

/**
 * The values in a reading of a text, words in a row left out. Where a sentence follows an address without a space, the address
 * is there with its first word and without.
 */
export function placedValues(view: FoldedView, text: string): PlacedValue[] {
  const place = (value: Value): PlacedValue => {
    const span = view.toText(value);
    return { value, span, written: text.slice(span.start, span.end) };
  };
  return valuesIn(view.text).flatMap((value) => {
    const placed = place(value);
    const { kind, host } = value;
    if (host === undefined || (kind !== 'email' && kind !== 'host')) return [placed];
    const label = host.slice(host.lastIndexOf('.'));
    const rest = host.slice(0, -label.length);
    if (!/^\.\p{Lu}/u.test(placed.written.slice(-label.length)) || !DOMAIN.test(rest)) return [placed];
    const end = value.end - label.length;
    return [placed, place({ ...value, text: value.text.slice(0, -label.length), host: rest, end })];
  });
}

/** The values in a folded text, words in a row left out. Linear in the text. */
export function valuesIn(text: string): Value[] {
  const found: Value[] = [];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    addUrl(found, token, index);
    for (const { 0: piece, index: at } of token.matchAll(PIECE)) {
      addPiece(found, piece, index + at);
      // An address in the query of another.
      if (at > 0) addUrl(found, piece, index + at);
    }
  }
  addNumbers(found, text);
  for (const { 0: written, index } of text.matchAll(IP)) {
    const isBare = written.includes(':') && !written.startsWith('[');
    const host = hostOf(isBare ? `[${written}]` : written);
    if (host !== undefined) found.push(valueAt('host', host, index, written.length, host));
  }
  for (const { 0: iban, index } of text.matchAll(IBAN)) {
    const joined = iban.replaceAll(' ', '');
    if (joined.replace(/\D+/g, '').length >= 8) found.push(valueAt('account', joined, index, iban.length));
  }
  return found;
}

function valueAt(kind: ValueKind, text: string, start: number, length: number, host?: string): Value {
  return { kind, text, start, end: start + length, ...(host === undefined ? {} : { host }) };
}

/** Adds the address behind each scheme. The first is the whole token; later ones end at the next, or time would grow with their square. */
function addUrl(found: Value[], token: string, index: number): void {
  const schemes = [...token.matchAll(SCHEME)];
  for (const [at, { 0: scheme, index: from }] of schemes.entries()) {
    const start = from + scheme.length;
    addAddress(found, token.slice(start, at === 0 ? undefined : schemes[at + 1]?.index), index + start);
  }
}

/** A host in the form that is compared; undefined for numbers that are no address. */
function hostOf(written: string): string | undefined {
  if (!NUMBERS.test(written)) return written.replace(/^www\./, '');
  if (!URL.canParse(`http://${written}`)) return undefined;
  const { hostname } = new URL(`http://${written}`);
  const [, high, low] = MAPPED.exec(hostname) ?? [];
  return high === undefined ? hostname : new URL(`http://0x${high}${low?.padStart(4, '0')}`).hostname;
}

function addAddress(found: Value[], given: string, start: number): void {
  const url = given.replace(/[.:!/]{1,8}$/, '');
  const authority = /^[^/?#\\]*/.exec(url)?.[0] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/[._~-]{0,8}(?::\d{0,5})?$/, '');
  if (host.length < 3) return;
  const bare = hostOf(host);
  if (bare === undefined) return;
  found.push(valueAt('host', bare, start, authority.length, bare));
  if (url.length > authority.length) found.push(valueAt('url', url.replace(/^www\./, ''), start, url.length, bare));
}

function addPiece(found: Value[], given: string, index: number): void {
  if (given.includes('@')) addMail(found, given, index);
  const lead = /^(?:[a-z]{3,12}:(?!\/)|[:!_-]{1,8}|~~|\.(?![./\\])|[\\/]{2,})/.exec(given)?.[0].length ?? 0;
  const piece = given.slice(lead).replace(/[.:!_~]{1,8}$/, '');
  const start = index + lead;
  if (piece.length < 3) return;
  if (HANDLE.test(piece)) found.push(valueAt('handle', piece, start, piece.length));
  else if (isPath(piece)) found.push(valueAt('path', piece.replaceAll('\\', '/'), start, piece.length));
  else if (DOMAIN.test(/^[^\\/:]*/.exec(piece)?.[0] ?? '')) addAddress(found, piece, start);
  else if (isSecret(piece)) found.push(valueAt(WALLET.test(piece) ? 'wallet' : 'secret', piece, start, piece.length));
}

function isPath(piece: string): boolean {
  if (piece.includes('://')) return false;
  if (ROOTED.test(piece)) return /\p{L}/u.test(piece);
  const type = EXTENSION.exec(piece)?.[0].slice(1);
  if (type === undefined || piece.includes('@')) return false;
  const head = /^[^\\/]*/.exec(piece)?.[0] ?? '';
  return FILE_TYPES.has(type) && (head === piece || !DOMAIN.test(head));
}

function isSecret(piece: string): boolean {
  if (!SECRET.test(piece) || UUID.test(piece)) return false;
  return piece.replace(/\D+/g, '').length >= 4 && piece.replace(/[^a-z]+/g, '').length >= 4;
}

/** Adds each mail address around an at sign: also without signs before it, which may be those of a list or of Markdown. */
function addMail(found: Value[], piece: string, index: number): void {
  let from = 0;
  for (let at = piece.indexOf('@'); at >= 0; at = piece.indexOf('@', at + 1)) {
    let start = at;
    while (start > from && ADDRESS_PART.test(piece.charAt(start - 1))) start -= 1;
    let end = at + 1;
    while (end < piece.length && ADDRESS_PART.test(piece.charAt(end))) end += 1;
    const [host] = MAIL_HOST.exec(piece.slice(at + 1, end)) ?? [];
    const signs = piece.slice(start, at).search(/[\p{L}\p{N}]/u);
    from = at + 1;
    if (signs < 0 || host === undefined) continue;
    end = from + host.length;
    for (const first of new Set([start, start + signs]))
      found.push(valueAt('email', piece.slice(first, end), index + first, end - first, host));
  }
}

/** Adds rows of digits, however they are grouped, without the dates before them; and the long groups of a row. */
function addNumbers(found: Value[], text: string): void {
  let row: Span[] = [];
  for (const { 0: digits, index } of text.matchAll(/\d+/g)) {
    if (!continues(text, row, index)) {
      addRow(found, text, row);
      row = [];
    }
    row.push({ start: index, end: index + digits.length });
  }
  addRow(found, text, row);
}

/** Whether digits at an offset belong to the row before them. */
function continues(text: string, row: readonly Span[], index: number): boolean {
  const [first] = row;
  const end = row.at(-1)?.end ?? -1;
  if (first === undefined || index - end > 3) return false;
  const gap = text.slice(end, index);
  const lead = text.charAt(first.start - 1);
  if (PHONE_GAP.test(gap)) return lead === '+' || text.charAt(first.start) === '0';
  const isItem = ITEM_GAP.test(gap) && row.length === 1 && end - first.start <= 3 && !/[+(]/.test(lead);
  return NUMBER_GAP.test(gap) && !isItem;
}

function addRow(found: Value[], text: string, groups: readonly Span[]): void {
  const end = groups.at(-1)?.end ?? 0;
  let dateEnd = 0;
  const from = groups.findIndex((group) => {
    if (group.end <= dateEnd) return false;
    dateEnd = group.start + dateLength(text, group.start, end);
    return dateEnd === group.start;
  });
  const first = groups[from];
  if (first === undefined) return;
  const whole = numberAt(text, first.start, end);
  if (whole !== undefined) found.push(whole);
  if (first.end === end) return;
  const least = text.charAt(first.start) === '0' || text.charAt(first.start - 1) === '+' ? MIN_IN_PHONE : MIN_DIGITS;
  for (const group of groups.slice(from)) {
    if (group.end - group.start < least || dateLength(text, group.start, group.end) > 0) continue;
    const number = numberAt(text, group.start, group.end);
    if (number !== undefined && number.text !== whole?.national) found.push(number);
  }
}

/** Counts the characters of the date that a row of digits begins with. */
function dateLength(text: string, start: number, end: number): number {
  const row = text.slice(start, end);
  if (text.charAt(start - 1) === '+' || PAIRS.test(row)) return 0;
  return DATE.exec(row)?.[0].length ?? 0;
}

function numberAt(text: string, start: number, end: number): Value | undefined {
  const written = text.slice(start, end);
  const digits = written.replace(/\D+/g, '').length;
  if (digits < MIN_DIGITS || digits > MAX_DIGITS) return undefined;
  const hasPlus = text.charAt(start - 1) === '+';
  const isPhone = digits <= MAX_PHONE && (hasPlus || written.length > digits);
  const { number, national } = phoneForms(written, hasPlus);
  const value = valueAt(isPhone ? 'phone' : 'account', number, start, end - start);
  return national === undefined ? value : { ...value, national };
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces between words: two of their characters count as one word. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
const WORDS_IN_ROW = 4;
/** Four shorter words are a phrase that anyone says. */
const MIN_LETTERS = 14;

/** Every four words in a row of a folded text. Linear in the text. */
export function wordsIn(text: string): Value[] {
  const words = [...text.matchAll(WORD)].flatMap(({ 0: word, index }) =>
    UNSPACED.test(word)
      ? [...word].map((sign, at) => ({ word: sign, start: index + at, weight: 0.5 }))
      : [{ word, start: index, weight: 1 }],
  );
  return words.flatMap(({ start }, first): Value[] => {
    let weight = 0;
    let letters = 0;
    let last = first;
    for (; last < words.length && weight < WORDS_IN_ROW; last += 1) {
      const read = words[last] as (typeof words)[number];
      weight += read.weight;
      letters += read.weight === 1 ? read.word.length : MIN_LETTERS;
    }
    if (weight < WORDS_IN_ROW || letters < MIN_LETTERS) return [];
    const row = words.slice(first, last);
    const { word = '', start: at = start } = row.at(-1) ?? {};
    return [{ kind: 'words', text: row.map((each) => each.word).join(' '), start, end: at + word.length }];
  });
}
