import { fillTable, readRuns } from './fold-table.js';
import { CONFUSABLE_ASTRAL_RUNS, CONFUSABLE_RUNS } from './generated/confusable-runs.js';

/** For each code unit the ASCII letter or digit that it looks like; 0 none. @see UTS #39, section 4 */
const CONFUSABLE: Uint8Array = fillTable(new Uint8Array(0x10000), CONFUSABLE_RUNS);

/** Letters of rare scripts beyond the BMP that look like ASCII ones: no benign Latin word has them. */
export const ASTRAL_CONFUSABLES: ReadonlyMap<number, string> = readAstral();

/**
 * Reads confusables of other scripts as ASCII, in words that mix them with Latin letters and, where the text around is
 * mostly Latin, in words made of nothing else. Offsets stay the same. `text` is folded.
 */
export function readConfusables(text: string): string {
  let latin = 0;
  let confusable = 0;
  let other = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x61 && unit <= 0x7a) latin += 1;
    else if (unit < 0xc0) continue;
    else if (CONFUSABLE[unit] !== 0) confusable += 1;
    else if (isLetter(unit)) other += 1;
  }
  if (confusable === 0 || latin === 0) return text;
  return readWords(text, latin > 2 * (confusable + other));
}

function readWords(text: string, mostlyLatin: boolean): string {
  let out = '';
  let read = 0;
  for (let from = 0; from < text.length; ) {
    let to = from;
    let latin = 0;
    let confusable = 0;
    let other = 0;
    for (; to < text.length; to += 1) {
      const unit = text.charCodeAt(to);
      if (unit >= 0x61 && unit <= 0x7a) latin += 1;
      else if (unit < 0xc0) {
        if (unit < 0x30 || unit > 0x39) break;
      } else if (CONFUSABLE[unit] !== 0) confusable += 1;
      else if (isLetter(unit)) other += 1;
      else break;
    }
    if (confusable > 0 && (latin > 0 ? other <= latin + confusable : mostlyLatin && other === 0)) {
      out += text.slice(read, from) + asAscii(text, from, to);
      read = to;
    }
    from = to + 1;
  }
  return read === 0 ? text : out + text.slice(read);
}

function asAscii(text: string, from: number, to: number): string {
  let word = '';
  for (let i = from; i < to; i += 1) {
    const confusable = CONFUSABLE[text.charCodeAt(i)] as number;
    word += confusable === 0 ? text.charAt(i) : String.fromCharCode(confusable);
  }
  return word;
}

/** Letters and marks below the general punctuation, and those of the later blocks but for signs. Rough on purpose. */
function isLetter(unit: number): boolean {
  return unit < 0x2000 || (unit >= 0x2c00 && unit < 0x2e00) || unit >= 0x3040;
}

function readAstral(): ReadonlyMap<number, string> {
  const table = new Map<number, string>();
  readRuns(CONFUSABLE_ASTRAL_RUNS, (codePoint, target) => table.set(codePoint, String.fromCharCode(target)));
  return table;
}
