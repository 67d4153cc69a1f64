import { isUtf8 } from 'node:buffer';
import {
  type Decision,
  type Enforcement,
  type Guard,
  type Point,
  passes,
  type ScreenCall,
} from '../../policy/index.js';
import { isObject } from './messages.js';
import { spokenNames } from './spoken-names.js';

/** The outcome for a result: the value to pass on, or why it is blocked. */
export type ScreenedResult =
  | { readonly value: unknown; readonly enforcement?: undefined }
  | { readonly value?: undefined; readonly enforcement: Enforcement };

/** Members whose values are words of the protocol, where they look like it. */
const PROTOCOL_WORDS = new Set([
  'jsonrpc',
  'method',
  'type',
  'mimeType',
  'role',
  'resultType',
  'lastModified',
  'audience',
]);
const WORD = /^[\w./+:-]{0,40}$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Screens what a server returned: its texts as the one text that a model reads, since an attack may be split over several,
 * and the rest as JSON. Images, audio and other binary data are passed by; text in base64 is read.
 */
export async function screenResult(
  guard: Guard,
  point: Point,
  result: unknown,
  call: ScreenCall,
): Promise<ScreenedResult> {
  const texts: string[] = [];
  const rest = withoutTexts(result, texts);
  let shown: readonly string[] = texts;
  if (texts.length === 1) {
    const decision = await guard.screen(point, texts[0] as string, call);
    if (!passes(decision)) return decision;
    shown = [decision.value];
  } else if (texts.length > 1) {
    const several = await screenTogether(guard, point, texts, call);
    if ('enforcement' in several) return several;
    shown = several.texts;
  }
  const named = await guard.screen(point, spokenNames(rest), call);
  // No place to put its redacted text back.
  if (named.enforcement !== undefined && named.action !== 'report') return { enforcement: named.enforcement };
  let kept: unknown = rest;
  const isSaid = shown[0] === texts[0] && isTextOfStructure(result, texts);
  if (saysAnything(isSaid ? { ...(rest as object), structuredContent: null } : rest)) {
    const decision = await guard.screen(point, rest, call);
    if (!passes(decision)) return decision;
    kept = decision.value;
  }
  const isUnchanged = kept === rest && shown.every((text, index) => text === texts[index]);
  return { value: isUnchanged ? result : withTexts(result, rest, kept, [...shown]) };
}

/**
 * Whether the one text is the JSON of the structured content, as servers write it for clients that read texts alone: its
 * strings were screened with the text.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
function isTextOfStructure(result: unknown, [text, ...others]: readonly string[]): boolean {
  if (!isObject(result) || !isObject(result.structuredContent) || text === undefined || others.length > 0) return false;
  const { structuredContent } = result;
  return [0, 2].some((indent) => text === JSON.stringify(structuredContent, undefined, indent));
}

/** Each of several texts by itself, so that it can be redacted in its place; then what is left of them together. */
async function screenTogether(
  guard: Guard,
  point: Point,
  texts: readonly string[],
  call: ScreenCall,
): Promise<{ readonly texts: readonly string[] } | { readonly enforcement: Enforcement }> {
  let shown = texts;
  if (guard.policy[point] === 'redact') {
    const decisions: readonly Decision<string>[] = await Promise.all(
      texts.map((text) => guard.screen(point, text, call)),
    );
    const refused = decisions.find((decision) => !passes(decision));
    if (refused?.enforcement !== undefined) return { enforcement: refused.enforcement };
    shown = decisions.map((decision, index) => decision.value ?? texts[index] ?? '');
  }
  const joined = shown.join('\n');
  const decision = await guard.screen(point, joined, call);
  if (!passes(decision)) return decision;
  // Cut across its parts: there is no place to put it back.
  return decision.action === 'redact' ? { enforcement: decision.enforcement } : { texts: shown };
}

/** A copy in which the texts for the model are empty, and so is binary data; the texts are added to `texts`. */
function withoutTexts(value: unknown, texts: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, texts));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (typeof member !== 'string') return [name, withoutTexts(member, texts)];
      if (name === 'text') {
        texts.push(member);
        return [name, ''];
      }
      return [name, isEncoded(value, name) ? plainText(member) : member];
    }),
  );
}

/** Whether a member holds base64 by the protocol: `data` of images and audio, `blob` of resources. */
function isEncoded(owner: Readonly<Record<string, unknown>>, name: string): boolean {
  return name === 'blob' || (name === 'data' && (owner.type === 'image' || owner.type === 'audio'));
}

/** What base64 says as text; nothing for binary data, the string itself where it isn't base64. */
function plainText(encoded: string): string {
  const packed = /\s/.test(encoded) ? encoded.replace(/\s+/g, '') : encoded;
  if (!BASE64.test(packed)) return encoded;
  const bytes = Buffer.from(packed, 'base64');
  return bytes.length > 0 && isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : '';
}

/** Whether a value has a string or a name that isn't a word of the protocol. */
function saysAnything(value: unknown, name = ''): boolean {
  if (typeof value === 'string') return value !== '' && !(PROTOCOL_WORDS.has(name) && WORD.test(value));
  if (Array.isArray(value)) return value.some((item) => saysAnything(item, name));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([member, inner]) => !isPlainName(member) || saysAnything(inner, member));
}

function isPlainName(name: string): boolean {
  return /^[\w$./-]{1,24}$/.test(name);
}

/** The original with its texts as they are shown, and the strings that a redaction of the rest changed. */
function withTexts(original: unknown, rest: unknown, kept: unknown, shown: string[]): unknown {
  if (Array.isArray(original)) {
    const [before, after] = [rest as unknown[], kept as unknown[]];
    return original.map((item, index) => withTexts(item, before[index], after[index], shown));
  }
  if (!isObject(original)) return rest === kept ? original : kept;
  const [before, after] = [rest, kept] as Readonly<Record<string, unknown>>[];
  return Object.fromEntries(
    Object.entries(original).map(([name, member]) => {
      if (name === 'text' && typeof member === 'string') return [name, shown.shift() ?? ''];
      const [was, is] = [before?.[name], after?.[name]];
      if (typeof is === 'string' && is !== was && was !== member) return [name, Buffer.from(is).toString('base64')];
      return [name, withTexts(member, was, is, shown)];
    }),
  );
}
