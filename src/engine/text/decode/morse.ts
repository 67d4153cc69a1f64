import type { Replacement } from '../replacement.js';

const RUN = /(?<![\w.\-·•−–—/])(?:[.\-·•−–—_]{1,7}(?:[ \t]{1,8}|[ \t]*[/|\n][ \t]*)){7,}[.\-·•−–—_]{1,7}(?![\w])/g;
const SIGN = /([.\-·•−–—_]+)|[^.\-·•−–—_]+/g;

const CODES: ReadonlyMap<string, string> = new Map(
  (
    'a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- u..- v...- w.-- ' +
    'x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. ,--..-- ?..--.. !-.-.-- ' +
    "'.----. /-..-. :---... =-...- +.-.-."
  )
    .split(' ')
    .map((code) => [code.slice(1), code.charAt(0)]),
);

/** Reads Morse code: signs apart by a space, words by a slash, a line break or several spaces. */
export function decodeMorse(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const read = readRun(match[0], match.index);
    if (read !== undefined) found.push(read);
  }
  return found;
}

function readRun(run: string, start: number): Replacement | undefined {
  let text = '';
  const starts: number[] = [];
  let unknown = 0;
  let mixed = 0;
  const letters = new Set<string>();
  for (const match of run.matchAll(SIGN)) {
    const [piece, sign] = match;
    if (sign === undefined && piece.length < 3 && !/[/|\n]/.test(piece)) continue;
    const code = sign?.replace(/[·•]/g, '.').replace(/[−–—_]/g, '-');
    const letter = code === undefined ? ' ' : (CODES.get(code) ?? (code === '.-.-.-' ? '.' : undefined));
    if (letter === undefined) unknown += 1;
    else letters.add(letter);
    if (code?.includes('.') && code.includes('-')) mixed += 1;
    text += letter ?? '?';
    starts.push(start + match.index);
  }
  // Rows of dots and dashes that draw a line or a table have few letters, and each of dots or of dashes alone.
  if (unknown * 10 > text.length || letters.size < 5 || mixed * 5 < text.length) return undefined;
  return { start, end: start + run.length, text, starts, transform: 'morse' };
}
