/** Reads text out of bytes, base64 and data URLs as leniently as a host or a model would. */
import { Buffer } from 'node:buffer';

/** Kinds of binary data, by their media type. */
export type BinaryKind = 'image' | 'audio' | 'video' | 'text' | 'application' | 'binary';

/** Data that was carried in a string or in bytes. */
export interface Encoded {
  /** Of binary data, the sentences in it; undefined where there are none. */
  readonly text: string | undefined;
  /** Undefined for data that is text. */
  readonly unreadable: BinaryKind | undefined;
  /** The data with another text, carried in the same way; undefined where it can't be written. */
  readonly write: ((text: string) => unknown) | undefined;
}

/** Members that hold base64 in the content blocks of hosts. */
const BASE64_MEMBERS = new Set(
  'data blob bytes base64 image audio video file_data fileData image_data audio_data'.split(' '),
);
const BASE64 = /^[A-Za-z0-9+/_\s-]{15,}={0,2}\s*$/;
/** Words alone: they are read as they are, since a few of them can decode to something that looks like a text. */
const WORDS = /^[A-Z]?[a-z]+(?: [A-Z]?[a-z]+)+$/;
const DATA_URL = /^\s*data:([^,]*),(.*)$/is;
/** Readable text of some length in data that isn't text, and the four words in a row that make it a sentence. */
const READABLE = /(?:[^\p{Cc}\ufffd]|[\t\n\r]){20,}/gu;
const FOUR_WORDS = /\p{L}{2,20}(?:[\s,]{1,3}\p{L}{2,20}){3}/u;
/** Share of characters that no text has. */
const MOST_BAD = 0.3;

/** Data in a data URL, or in base64 where the member's name or a media type beside it says so. */
export function readEncoded(value: string, name: string, mediaType: string | undefined): Encoded | undefined {
  const url = DATA_URL.exec(value);
  if (url !== null) return readDataUrl(url[1] ?? '', url[2] ?? '');
  const isDeclared = BASE64_MEMBERS.has(name);
  if (!(isDeclared || mediaType !== undefined) || !BASE64.test(value) || WORDS.test(value)) return undefined;
  const encoded = readBytes(Buffer.from(value, 'base64'), mediaType);
  const write = encoded.write && ((text: string): string => Buffer.from(text).toString('base64'));
  if (encoded.unreadable === undefined) return { ...encoded, write };
  // A name or a sentence without spaces is base64 by its letters alone: that is left to be screened as it is.
  const isBinary = isDeclared && value.length >= 64 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
  return isBinary ? encoded : undefined;
}

/**
 * The sentences in base64 that is broken or incomplete, as readers find them that skip foreign characters, and go on after
 * padding or skip that too. Undefined where there are none, or where nothing says that a string is base64.
 */
export function readBrokenBase64(value: string, name: string, mediaType: string | undefined): string | undefined {
  if (name === 'text' || !(BASE64_MEMBERS.has(name) || mediaType !== undefined) || value.length < 27) return undefined;
  const parts = value.replace(/[^A-Za-z0-9+/_=-]+/g, '').split(/=+/);
  const whole = Buffer.from(parts.join(''), 'base64');
  const apart = parts.length > 1 ? parts.map((part) => Buffer.from(part, 'base64')) : [];
  return readSentences([whole, ...apart].map((bytes) => readBytes(bytes, mediaType).text ?? '').join('\0'));
}

function readSentences(text: string): string | undefined {
  return (
    text
      .match(READABLE)
      ?.filter((each) => FOUR_WORDS.test(each))
      .join('\n') || undefined
  );
}

function readDataUrl(head: string, body: string): Encoded {
  const mediaType = head.replace(BASE64_HEAD, '') || 'text/plain';
  const encoded = readBytes(dataUrlBytes(head, body), mediaType);
  const [bare] = mediaType.split(';');
  const write =
    encoded.write && ((text: string): string => `data:${bare};base64,${Buffer.from(text).toString('base64')}`);
  return { ...encoded, write };
}

const BASE64_HEAD = /;\s*base64\s*$/i;

export function dataUrlBytes(head: string, body: string): Uint8Array {
  return Buffer.from(percentDecoded(body), BASE64_HEAD.test(head) ? 'base64' : 'utf8');
}

/** Percent-decodes as far as it can be. */
export function percentDecoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
}

/**
 * Data in bytes. Text of any Unicode encoding is read, with and without a byte order mark; a broken byte is U+FFFD. Data that says
 * to be UTF-16 is read by many as UTF-8 all the same: its sentences there count, too.
 */
export function readBytes(bytes: Uint8Array, mediaType: string | undefined): Encoded {
  const decoder = new TextDecoder(encodingOf(bytes, mediaType));
  const decoded = decoder.decode(bytes);
  const isUtf16 = decoder.encoding.startsWith('utf-16');
  const other = isUtf16 ? readSentences(new TextDecoder().decode(bytes)) : undefined;
  const isRead = isText(decoded);
  const read = isRead ? decoded.replace(BROKEN_WORD, '') : readSentences(decoded);
  const text = read === undefined || other === undefined ? (read ?? other) : `${read}\n${other}`;
  if (!isRead) return { text, unreadable: kindOf(mediaType), write: undefined };
  const same = Buffer.isBuffer(bytes) ? Buffer.from : (given: string) => new TextEncoder().encode(given);
  return { text, unreadable: undefined, write: decoder.encoding === 'utf-8' ? (given) => same(given) : undefined };
}

/** A broken byte in a word doesn't keep anyone from reading it. */
const BROKEN_WORD = /(?<=\p{L})\ufffd+(?=\p{L})/gu;

/** The byte order mark of the UTF-16 that bytes are written in, with and without one; undefined for another encoding. */
export function utf16Mark(bytes: Uint8Array, mediaType: string | undefined): Uint8Array | undefined {
  const { encoding } = new TextDecoder(encodingOf(bytes, mediaType));
  if (encoding === 'utf-16le') return Uint8Array.of(0xff, 0xfe);
  return encoding === 'utf-16be' ? Uint8Array.of(0xfe, 0xff) : undefined;
}

function encodingOf(bytes: Uint8Array, mediaType: string | undefined): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  const length = Math.min(bytes.length, 4_096);
  for (let at = 0; at < length; at += 1) if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd * 5 > length && even * 20 < length) return 'utf-16le';
  if (even * 5 > length && odd * 20 < length) return 'utf-16be';
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(mediaType ?? '')?.[1];
  return charset !== undefined && isEncoding(charset) ? charset.toLowerCase() : 'utf-8';
}

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

/** Whether few characters are controls or couldn't be decoded, beside those within a word. */
function isText(text: string): boolean {
  const most = text.length * MOST_BAD;
  let bad = 0;
  for (let at = 0; at < text.length && bad <= most; at += 1) {
    const unit = text.charCodeAt(at);
    const isSpace = unit >= 9 && unit <= 13;
    if ((unit < 0x20 && !isSpace) || (unit >= 0x7f && unit < 0xa0)) bad += 1;
    if (unit !== 0xfffd) continue;
    const start = at;
    while (text.charCodeAt(at + 1) === 0xfffd) at += 1;
    if (!(isLetter(text.charAt(start - 1)) && isLetter(text.charAt(at + 1)))) bad += at + 1 - start;
  }
  return bad <= most;
}

function isLetter(character: string): boolean {
  return /^\p{L}$/u.test(character);
}

/** By the type alone, and only those that are registered: the rest is written by whoever wrote the content. */
function kindOf(mediaType: string | undefined): BinaryKind {
  const kind = /^\s*(image|audio|video|text|application)\//i.exec(mediaType ?? '')?.[1]?.toLowerCase();
  return (kind as BinaryKind | undefined) ?? 'binary';
}
