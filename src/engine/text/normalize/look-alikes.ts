import { readRuns } from '../read-runs.js';
import { LOOK_ALIKE_RUNS } from './generated/look-alike-runs.js';

/** For each code unit the ASCII letter or digit that it looks like; 0 none. @see UTS #39, section 4 */
const LOOK_ALIKE: Uint8Array = readTable();

/**
 * Reads look-alikes of other scripts as ASCII, in words that mix them with Latin letters, and in words that are made
 * of them wholly where the text around is mostly Latin. Offsets stay the same. `text` is folded.
 */
export function readLookAlikes(text: string): string {
  let latin = 0;
  let alike = 0;
  let other = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x61 && unit <= 0x7a) latin += 1;
    else if (unit < 0xc0) continue;
    else if (LOOK_ALIKE[unit] !== 0) alike += 1;
    else if (isLetter(unit)) other += 1;
  }
  if (alike === 0 || latin === 0) return text;
  return readWords(text, latin > 2 * (alike + other));
}

function readWords(text: string, mostlyLatin: boolean): string {
  let out = '';
  let read = 0;
  for (let from = 0; from < text.length; ) {
    let to = from;
    let latin = 0;
    let alike = 0;
    let other = 0;
    for (; to < text.length; to += 1) {
      const unit = text.charCodeAt(to);
      if (unit >= 0x61 && unit <= 0x7a) latin += 1;
      else if (unit < 0xc0) {
        if (unit < 0x30 || unit > 0x39) break;
      } else if (LOOK_ALIKE[unit] !== 0) alike += 1;
      else if (isLetter(unit)) other += 1;
      else break;
    }
    if (alike > 0 && (latin > 0 ? other <= latin + alike : mostlyLatin && other === 0)) {
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
    const alike = LOOK_ALIKE[text.charCodeAt(i)] as number;
    word += alike === 0 ? text.charAt(i) : String.fromCharCode(alike);
  }
  return word;
}

/** Letters and marks below the general punctuation, and those of the later blocks but for signs. Rough on purpose. */
function isLetter(unit: number): boolean {
  return unit < 0x2000 || (unit >= 0x2c00 && unit < 0x2e00) || unit >= 0x3040;
}

function readTable(): Uint8Array {
  const table = new Uint8Array(0x10000);
  readRuns(LOOK_ALIKE_RUNS, (unit, target) => {
    table[unit] = target;
  });
  return table;
}
