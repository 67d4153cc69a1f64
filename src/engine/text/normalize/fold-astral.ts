import { readRuns } from '../read-runs.js';
import { LOOK_ALIKE_ASTRAL_RUNS } from './generated/look-alike-runs.js';

/** Letters of rare scripts beyond the BMP that look like ASCII ones: nobody writes them in a Latin word honestly. */
const ASTRAL_LOOK_ALIKES: ReadonlyMap<number, string> = readAstral();

/** The fold of a code point beyond the BMP; '' drops it, undefined leaves it as it is (emoji do). */
export function foldAstral(codePoint: number): string | undefined {
  if (codePoint >= 0x1f100 && codePoint <= 0x1f1ff) return foldEnclosed(codePoint);
  if (codePoint >= 0xe0000 && codePoint <= 0xe0fff) return '';
  if ((codePoint >= 0x1bca0 && codePoint <= 0x1bca3) || (codePoint >= 0x1d173 && codePoint <= 0x1d17a)) return '';
  const compatible =
    (codePoint >= 0x1d400 && codePoint <= 0x1d7ff) ||
    (codePoint >= 0x10780 && codePoint <= 0x107bf) ||
    (codePoint >= 0x1e030 && codePoint <= 0x1e06f) ||
    (codePoint >= 0x1ee00 && codePoint <= 0x1eeff) ||
    (codePoint >= 0x1fbf0 && codePoint <= 0x1fbf9) ||
    (codePoint >= 0x2f800 && codePoint <= 0x2fa1f);
  if (!compatible) return ASTRAL_LOOK_ALIKES.get(codePoint);
  const character = String.fromCodePoint(codePoint);
  const folded = character.normalize('NFKC').toLowerCase();
  // Dotless i and j, and final sigma among the mathematical letters.
  const settled = folded === 'ı' ? 'i' : folded === 'ȷ' ? 'j' : folded === 'ς' ? 'σ' : folded;
  return settled === character ? undefined : settled;
}

/** Letters in circles and squares, and the regional indicators of flags. */
function foldEnclosed(codePoint: number): string | undefined {
  if (codePoint >= 0x1f1e6) return letter(codePoint - 0x1f1e6);
  if (codePoint >= 0x1f110 && codePoint <= 0x1f129) return letter(codePoint - 0x1f110);
  if (codePoint >= 0x1f130 && codePoint <= 0x1f149) return letter(codePoint - 0x1f130);
  if (codePoint >= 0x1f150 && codePoint <= 0x1f169) return letter(codePoint - 0x1f150);
  if (codePoint >= 0x1f170 && codePoint <= 0x1f189) return letter(codePoint - 0x1f170);
  const character = String.fromCodePoint(codePoint);
  const folded = character.normalize('NFKC').toLowerCase();
  return folded === character ? undefined : folded;
}

function letter(index: number): string {
  return String.fromCharCode(0x61 + index);
}

function readAstral(): ReadonlyMap<number, string> {
  const table = new Map<number, string>();
  readRuns(LOOK_ALIKE_ASTRAL_RUNS, (codePoint, target) => table.set(codePoint, String.fromCharCode(target)));
  return table;
}
