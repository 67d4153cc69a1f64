/** Finds the values in a folded text that lead somewhere: addresses, accounts, files, secrets; and words in a row. */
import type { Value, ValueKind } from './run-state.js';
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
const NUMBER_GAP = /^[ .()/-]{1,2}\+?$/;
/** Within a number that begins as those of phones do. */
const PHONE_GAP = /^ [/-] $/;

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

/** Adds a URL without its scheme, and its host. */
function addAddress(found: Value[], given: string, start: number): void {
  const url = given.replace(/[.:!/]{1,8}$/, '');
  const authority = /^[^/?#\\]*/.exec(url)?.[0] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/\.?(?::\d{0,5})?$/, '');
  if (host.length < 3) return;
  const bare = hostOf(host);
  if (bare === undefined) return;
  found.push(valueAt('host', bare, start, authority.length, bare));
  if (url.length > authority.length) found.push(valueAt('url', url.replace(/^www\./, ''), start, url.length, bare));
}

/** Adds what a token, or a part of a query, is. */
function addPiece(found: Value[], given: string, index: number): void {
  const lead = /^(?:[a-z]{3,12}:(?!\/)|[:!-]{1,8}|\.(?![./\\])|[\\/]{2,})/.exec(given)?.[0].length ?? 0;
  const piece = given.slice(lead).replace(/[.:!]{1,8}$/, '');
  const start = index + lead;
  if (piece.length < 3) return;
  if (piece.includes('@')) addMail(found, piece, start);
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

/** Adds each mail address around an at sign. */
function addMail(found: Value[], piece: string, index: number): void {
  let from = 0;
  for (let at = piece.indexOf('@'); at >= 0; at = piece.indexOf('@', at + 1)) {
    let start = at;
    while (start > from && ADDRESS_PART.test(piece.charAt(start - 1))) start -= 1;
    let end = at + 1;
    while (end < piece.length && ADDRESS_PART.test(piece.charAt(end))) end += 1;
    const host = piece.slice(at + 1, end);
    from = at + 1;
    if (start === at || !DOMAIN.test(host)) continue;
    found.push(valueAt('email', piece.slice(start, end), index + start, end - start, host));
  }
}

/** Adds rows of digits, however they are grouped. */
function addNumbers(found: Value[], text: string): void {
  let start = 0;
  let end = -1;
  let digits = '';
  const close = (): void => {
    if (digits.length < 7 || digits.length > 24) return;
    const written = text.slice(start, end);
    const hasPlus = text.charAt(start - 1) === '+';
    if (!hasPlus && DATE.test(written) && !PAIRS.test(written)) return;
    const isPhone = digits.length <= 15 && (hasPlus || written.length > digits.length);
    const { number, national } = phoneForms(written, hasPlus);
    const value = valueAt(isPhone ? 'phone' : 'account', number, start, end - start);
    found.push(national === undefined ? value : { ...value, national });
  };
  const isGap = (gap: string): boolean =>
    NUMBER_GAP.test(gap) || (PHONE_GAP.test(gap) && (digits.startsWith('0') || text.charAt(start - 1) === '+'));
  for (const { 0: run, index } of text.matchAll(/\d+/g)) {
    if (end >= 0 && index - end <= 3 && isGap(text.slice(end, index))) digits += run;
    else {
      close();
      start = index;
      digits = run;
    }
    end = index + run.length;
  }
  close();
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
