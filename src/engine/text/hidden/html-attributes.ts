/** One attribute of a tag; the value without its quotes, in offsets of the text. */
export interface Attribute {
  /** Lower case. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const ATTRIBUTE = /([^\s=>"'/]{1,80})(?:\s{0,8}=\s{0,8}(?:"([^"]*)"?|'([^']*)'?|([^\s>"']+)))?/g;

/** The attributes between two offsets of a text. */
export function htmlAttributes(text: string, from: number, to: number): readonly Attribute[] {
  if (to - from < 2) return [];
  const found: Attribute[] = [];
  for (const match of text.slice(from, to).matchAll(ATTRIBUTE)) {
    const value = match[2] ?? match[3] ?? match[4] ?? '';
    const quoted = match[4] === undefined && value !== match[0] && match[0].includes('=');
    const closing = quoted && /["']$/.test(match[0]) && match[0].length > match[0].indexOf('=') + 2 ? 1 : 0;
    const end = from + match.index + match[0].length - closing;
    found.push({ name: (match[1] ?? '').toLowerCase(), start: end - value.length, end });
  }
  return found;
}
