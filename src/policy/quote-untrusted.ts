import { createHmac, randomBytes } from 'node:crypto';

/** Puts a text between marks that it can't forge. */
export type Quote = (text: string, source: string) => string;

/**
 * Makes a function that fences texts. The nonce in the marks is an HMAC of the text with a random key of this function:
 * nobody who writes the text can know it, and the same text is always fenced alike, so a provider's prompt cache still works.
 */
export function createQuote(): Quote {
  const key = randomBytes(32);
  return (text, source) => {
    const mark = `untrusted-${createHmac('sha256', key).update(source).update('\0').update(text).digest('hex').slice(0, 24)}`;
    const escaped = text.replace(/<(?=\s*\/?\s*untrusted-)/giu, '&lt;');
    return `<${mark} source="${source}">\n${escaped}\n</${mark}>`;
  };
}
