/** One attribute of a tag; the value without its quotes, in offsets of the text. */
export interface Attribute {
  /** Lower case. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const ATTRIBUTE = /([^\s=>"'/]{1,80})\s{0,8}=\s{0,8}(?:"([^"]*)"?|'([^']*)'?|([^\s>"']+))/g;
const HIDDEN = /(?:^|\s)hidden(?=$|[\s/])/i;

/** The attributes between two offsets of a text; of those without a value `hidden` alone. */
export function htmlAttributes(text: string, from: number, to: number): readonly Attribute[] {
  if (to - from < 2) return [];
  const found: Attribute[] = [];
  const inner = text.slice(from, to);
  if (HIDDEN.test(inner)) found.push({ name: 'hidden', start: from, end: from });
  if (!inner.includes('=')) return found;
  for (const match of inner.matchAll(ATTRIBUTE)) {
    const [all, name = '', double, single, bare] = match;
    const value = double ?? single ?? bare ?? '';
    const closed =
      bare === undefined &&
      all.endsWith(double === undefined ? "'" : '"') &&
      all.length > name.length + value.length + 2;
    const end = from + match.index + all.length - (closed ? 1 : 0);
    found.push({ name: name.toLowerCase(), start: end - value.length, end });
  }
  return found;
}
