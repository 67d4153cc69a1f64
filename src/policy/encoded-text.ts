/** Reads text out of bytes, base64 and data URLs as leniently as a host or a model would. */
import { Buffer } from 'node:buffer';

/** Kinds of binary data, by their media type. */
export type BinaryKind = 'image' | 'audio' | 'video' | 'text' | 'application' | 'binary';

/** Data that was carried in a string or in bytes. */
export interface Encoded {
  /** Undefined for data that isn't text. */
  readonly text: string | undefined;
  readonly kind: BinaryKind;
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
  if (encoded.text !== undefined) return { ...encoded, write };
  // A name or a sentence without spaces is base64 by its letters alone: that is left to be screened as it is.
  const isBinary = isDeclared && value.length >= 64 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
  return isBinary ? { ...encoded, write } : undefined;
}

function readDataUrl(head: string, body: string): Encoded {
  const isBase64 = /;\s*base64\s*$/i.test(head);
  const bytes = isBase64 ? Buffer.from(decodePercent(body), 'base64') : Buffer.from(decodePercent(body));
  const mediaType = head.replace(/;\s*base64\s*$/i, '') || 'text/plain';
  const encoded = readBytes(bytes, mediaType);
  const [bare] = mediaType.split(';');
  const write =
    encoded.write && ((text: string): string => `data:${bare};base64,${Buffer.from(text).toString('base64')}`);
  return { ...encoded, write };
}

function decodePercent(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
}

/** Data in bytes. Text of any Unicode encoding is read, with and without a byte order mark; a broken byte is U+FFFD. */
export function readBytes(bytes: Uint8Array, mediaType: string | undefined): Encoded {
  const encoding = encodingOf(bytes, mediaType);
  // A broken byte in a word doesn't keep anyone from reading it.
  const text = new TextDecoder(encoding).decode(bytes).replace(/(?<=\p{L})\ufffd+(?=\p{L})/gu, '');
  const kind = kindOf(mediaType);
  if (!isText(text)) return { text: undefined, kind, write: undefined };
  const same = Buffer.isBuffer(bytes) ? Buffer.from : (given: string) => new TextEncoder().encode(given);
  return { text, kind, write: encoding === 'utf-8' ? (given) => same(given) : undefined };
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

/** Whether few characters are controls or couldn't be decoded. */
function isText(text: string): boolean {
  const most = text.length * MOST_BAD;
  let bad = 0;
  for (let at = 0; at < text.length && bad <= most; at += 1) {
    const unit = text.charCodeAt(at);
    const isSpace = unit >= 9 && unit <= 13;
    if (unit === 0xfffd || (unit < 0x20 && !isSpace) || (unit >= 0x7f && unit < 0xa0)) bad += 1;
  }
  return bad <= most;
}

/** By the type alone, and only those that are registered: the rest is written by whoever wrote the content. */
function kindOf(mediaType: string | undefined): BinaryKind {
  const kind = /^\s*(image|audio|video|text|application)\//i.exec(mediaType ?? '')?.[1]?.toLowerCase();
  return (kind as BinaryKind | undefined) ?? 'binary';
}
