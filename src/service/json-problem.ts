/** What JSON.parse lets by in a text that is JSON. Positions are in UTF-16 code units. */
export interface JsonProblem {
  readonly kind: 'depth' | 'duplicate';
  readonly position: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The first too deep level of a text, or else its first repeated name; one pass, jumping over strings. A text that isn't
 * JSON may get a name that isn't one.
 */
export function jsonProblem(text: string, maxDepth: number): JsonProblem | undefined {
  /** The names of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let expectsName = false;
  let repeated: number | undefined;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        const names = open.at(-1);
        if (expectsName && names) {
          const name = nameAt(text, at, end);
          if (names.has(name)) repeated ??= at;
          names.add(name);
          expectsName = false;
        }
        at = end;
        break;
      }
      case 0x7b: // {
        open.push(new Set());
        expectsName = true;
        if (open.length > maxDepth) return { kind: 'depth', position: at };
        break;
      case 0x5b: // [
        open.push(null);
        expectsName = false;
        if (open.length > maxDepth) return { kind: 'depth', position: at };
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        expectsName = open.at(-1) !== null;
        break;
    }
  }
  return repeated === undefined ? undefined : { kind: 'duplicate', position: repeated };
}

/** The index of the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Two spellings of one name ("a" and "\\u0061") are one name. */
function nameAt(text: string, start: number, end: number): string {
  const raw = text.slice(start, end + 1);
  if (!raw.includes('\\')) return raw.slice(1, -1);
  try {
    return String(JSON.parse(raw));
  } catch {
    // No string of JSON: the whole text will be refused for it.
    return raw;
  }
}
