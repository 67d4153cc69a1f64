/** Texts of the guard itself, which later layers let pass: notes, redacted and fenced texts. */
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Input } from '../engine/input.js';
import { type Content, readContent } from './content.js';
import { CHANNEL_OF_POINT, type Enforcement, type Point } from './policy.js';
import { digestInput } from './screener.js';

/** The guard's memory of its own texts. */
export interface OwnTexts {
  /** Remembers inputs of a point, with what the next layer has to do that meets one. */
  add(inputs: readonly Input[], point: Point, left?: Enforcement): void;
  /** Whether an input of this digest is the guard's own; once with what was left to do. */
  take(digest: string): { readonly left: Enforcement | undefined } | undefined;
  has(digest: string): boolean;
  /** Fences the texts of a content, where the guard quotes what comes from outside. */
  fence<T>(point: Point, value: T, content: Content): T;
}

const MAX_TEXTS = 2_000;

export function createOwnTexts(quotes: boolean): OwnTexts {
  const known = new LRUCache<string, { readonly left: Enforcement | undefined }>({ max: MAX_TEXTS });
  const quote = quotes ? createQuote() : undefined;
  const own: OwnTexts = {
    add(inputs, point, left) {
      for (const input of inputs) known.set(digestInput(input, CHANNEL_OF_POINT[point]), { left });
    },
    take(digest) {
      const found = known.get(digest);
      // Once: the note may stand in the history of later runs.
      if (found?.left !== undefined) known.set(digest, { left: undefined });
      return found;
    },
    has: (digest) => known.has(digest),
    fence<T>(point: Point, value: T, content: Content): T {
      if (quote === undefined) return value;
      const shown = content.mapBlocks((text) => {
        if (text === '' || known.has(digestInput(text, CHANNEL_OF_POINT[point]))) return text;
        const marked = quote(text, point);
        own.add([marked], point);
        return marked;
      }) as T;
      if (shown !== value) own.add(readContent(shown, false).inputs, point);
      return shown;
    },
  };
  return own;
}

/**
 * Makes a function that puts a text between marks that it can't forge. The nonce in the marks is an HMAC of the text with a random
 * key of this function: nobody who writes the text can know it, and the same text is always fenced alike, so a provider's prompt
 * cache still works.
 */
function createQuote(): (text: string, source: string) => string {
  const key = randomBytes(32);
  return (text, source) => {
    const mark = `untrusted-${createHmac('sha256', key).update(source).update('\0').update(text).digest('hex').slice(0, 24)}`;
    const escaped = text.replace(/<(?=\s*\/?\s*untrusted-)/giu, '&lt;');
    return `<${mark} source="${source}">\n${escaped}\n</${mark}>`;
  };
}
