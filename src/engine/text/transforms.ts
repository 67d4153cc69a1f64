import type { Span } from '../span.js';
import { AMPERSAND, BACKSLASH, BASE64_SIGN, EQUALS, PERCENT } from './char-kinds.js';
import { decodeBraille, decodeMorse, decodeRadioAlphabet, decodeUpsideDown } from './decode/alphabets.js';
import { decodeBase32, decodeBase64, decodeUtf7 } from './decode/base-encodings.js';
import { RADIO } from './decode/cipher-words.js';
import { decodeEntities, decodeEscapes, decodePercent, decodeQuotedPrintable } from './decode/escapes.js';
import { decodeUnicodeTags, decodeVariationSelectors, decodeZeroWidthBits } from './decode/invisible-characters.js';
import { decodeBinary, decodeCharCodes, decodeHex } from './decode/number-codes.js';
import { dropEmoji } from './deobfuscate/emoji.js';
import { replaceLeet } from './deobfuscate/leet.js';
import { joinSpacedLetters, spacedRows } from './deobfuscate/spaced-letters.js';
import { joinHyphenation, restoreWordGaps, splitJoinedWords } from './deobfuscate/word-breaks.js';
import type { Replacement } from './rewrite.js';
import { type Features, scanFeatures } from './scan-features.js';

/** A transform that rewrites runs of a text and leaves the rest as it is. */
export interface RunTransform {
  /** Cheap test on the features of the text; ordinary text passes few of them. */
  readonly applies: (features: Features) => boolean;
  /** The runs it can read. Linear in the text; never throws. */
  readonly find: (text: string, features: Features) => readonly Replacement[];
}

/** Undo what is done to words: letters apart, emoji between them, letters replaced, spaces removed or put elsewhere. */
export const DEOBFUSCATIONS: readonly RunTransform[] = [
  { applies: ({ singleRows }) => singleRows.length > 0, find: joinSpacedLetters },
  { applies: ({ emoji }) => emoji >= 2, find: dropEmoji },
  { applies: ({ leetSpots }) => leetSpots.length > 0, find: replaceLeet },
  { applies: ({ longWords }) => longWords.length > 0, find: restoreWordGaps },
  { applies: ({ joinedRows }) => joinedRows.length > 0, find: splitJoinedWords },
  { applies: ({ brokenWords }) => brokenWords, find: joinHyphenation },
];

/** Undo encodings: what a program or an alphabet writes in place of plain characters. */
export const DECODINGS: readonly RunTransform[] = [
  { applies: ({ codeRuns }) => codeRuns.length > 0, find: decodeBase64 },
  { applies: ({ codeRuns }) => codeRuns.length > 0, find: decodeBase32 },
  { applies: ({ signs }) => (signs & BASE64_SIGN) !== 0, find: decodeUtf7 },
  {
    applies: ({ hexWords, hexPairRow, leetSpots }) =>
      hexWords.length > 0 || hexPairRow.found.length > 0 || leetSpots.length >= 6,
    find: decodeHex,
  },
  { applies: ({ numberRow }) => numberRow.found.length > 0, find: decodeCharCodes },
  { applies: ({ octetRow, hexWords }) => octetRow.found.length > 0 || hexWords.length > 0, find: decodeBinary },
  { applies: ({ signs }) => (signs & PERCENT) !== 0, find: decodePercent },
  { applies: ({ signs }) => (signs & AMPERSAND) !== 0, find: decodeEntities },
  { applies: ({ signs }) => (signs & BACKSLASH) !== 0, find: decodeEscapes },
  { applies: ({ signs }) => (signs & EQUALS) !== 0, find: decodeQuotedPrintable },
  { applies: ({ dots }) => dots >= 12, find: decodeMorse },
  { applies: ({ tagCharacters }) => tagCharacters >= 4, find: decodeUnicodeTags },
  { applies: ({ selectors }) => selectors >= 4, find: decodeVariationSelectors },
  { applies: ({ zeroWidth }) => zeroWidth >= 32, find: decodeZeroWidthBits },
  { applies: ({ braille }) => braille >= 6, find: decodeBraille },
  { applies: ({ phonetic }) => phonetic >= 4, find: decodeUpsideDown },
  { applies: ({ tags }) => tags !== undefined && (tags[RADIO] as number) >= 4, find: decodeRadioAlphabet },
];

/** A run of a text; with a text as long as itself, what it stands for. */
type Disguise = Span & { readonly text?: string };

/**
 * Disguises of which a model sees the shape alone: codes for letters and leet, which it takes for an attack whatever they say, and emoji, whose
 * pieces its vocabulary lacks.
 */
const DISGUISES: ReadonlyMap<string, (text: string, features: Features) => readonly Disguise[]> = new Map<
  string,
  (text: string, features: Features) => readonly Disguise[]
>([
  ['morse', decodeMorse],
  ['spaced', spacedRows],
  ['emoji', dropEmoji],
  ['leet', replaceLeet],
]);

/**
 * The text, as long as before, with the letters that leet stands for, and with Morse code, spaced-out letters and emoji between words blanked.
 * @param transforms what made the views of this text; the others are not looked for
 */
export function undisguise(text: string, transforms: ReadonlySet<string>): string {
  const finders = [...DISGUISES].flatMap(([name, find]) => (transforms.has(name) ? [find] : []));
  if (finders.length === 0) return text;
  const features = scanFeatures(text);
  const runs = finders.flatMap((find) => find(text, features)).sort((a, b) => a.start - b.start);
  let plain = '';
  let read = 0;
  for (const run of runs) {
    if (run.start < read) continue;
    const size = run.end - run.start;
    plain += text.slice(read, run.start) + (run.text?.length === size ? run.text : ' '.repeat(size));
    read = run.end;
  }
  return plain + text.slice(read);
}

/** The runs that these transforms can read, in no order; they may overlap. */
export function findRuns(
  transforms: readonly RunTransform[],
  text: string,
  features: Features,
): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const { applies, find } of transforms) {
    if (!applies(features)) continue;
    for (const replacement of find(text, features)) found.push(replacement);
  }
  return found;
}
