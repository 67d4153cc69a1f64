type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end';

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Where a text that JSON.parse refuses stops being the beginning of a JSON text, in UTF-16 code units; its length where
 * it only ends too early. JSON.parse says it too, but not always, in words that differ by version and quote the text.
 */
export function jsonMistake(text: string): number {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
    const char = text[at];
    if (char === undefined) return at;
    if (expected === 'colon') {
      if (char !== ':') return at;
      at++;
      expected = 'value';
    } else if (expected === 'comma or end' || ('}]'.includes(char) && expected.endsWith(char))) {
      if (char === ',' && open.length > 0) expected = open.at(-1) === '{' ? 'name' : 'value';
      else if (open.pop() === (char === '}' ? '{' : char === ']' ? '[' : '')) expected = 'comma or end';
      else return at;
      at++;
    } else if (char === '"') {
      const end = stringEnd(text, at);
      if (text[end] !== '"') return end;
      at = end + 1;
      expected = expected.startsWith('name') ? 'colon' : 'comma or end';
    } else if (expected.startsWith('name')) {
      return at;
    } else if (char === '{' || char === '[') {
      open.push(char);
      at++;
      expected = char === '{' ? 'name or }' : 'value or ]';
    } else {
      const end = after(SCALAR, text, at);
      if (end === at) return ['true', 'false', 'null'].some((it) => it.startsWith(text.slice(at))) ? text.length : at;
      at = end;
      expected = 'comma or end';
    }
  }
}

/** The closing quote of the string that opens at `start`, or where it goes wrong. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"' && text.charCodeAt(at) >= 0x20) {
    const next = text[at] === '\\' ? after(ESCAPE, text, at) : at + 1;
    if (next === at) break;
    at = next;
  }
  return at;
}

function after(token: RegExp, text: string, at: number): number {
  token.lastIndex = at;
  return token.test(text) ? token.lastIndex : at;
}
