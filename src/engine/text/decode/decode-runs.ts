import { AMPERSAND, BACKSLASH, EQUALS, PERCENT } from '../char-kinds.js';
import { RADIO } from '../deobfuscate/cipher-words.js';
import type { Decoder, Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { decodeBase32 } from './base32.js';
import { decodeBase64 } from './base64.js';
import { decodeBraille } from './braille.js';
import { decodeBinary, decodeCharCodes } from './char-codes.js';
import { decodeEntities } from './entities.js';
import { decodeEscapes } from './escapes.js';
import { decodeHex } from './hex.js';
import { decodeMorse } from './morse.js';
import { decodePercent } from './percent.js';
import { decodeQuotedPrintable } from './quoted-printable.js';
import { decodeRadioAlphabet } from './radio-alphabet.js';
import { decodeUnicodeTags } from './unicode-tags.js';
import { decodeUpsideDown } from './upside-down.js';
import { decodeVariationSelectors } from './variation-selectors.js';
import { decodeZeroWidthBits } from './zero-width-bits.js';

/** Each decoder with the sign that a text must show before it is asked. */
const DECODERS: readonly (readonly [Decoder, (features: Features) => boolean])[] = [
  [decodeBase64, ({ codeRuns }) => codeRuns.length > 0],
  [decodeBase32, ({ codeRuns }) => codeRuns.length > 0],
  [decodeHex, ({ hexRun, hexPairs, leetSpots }) => hexRun >= 16 || hexPairs >= 6 || leetSpots.length >= 6],
  [decodeCharCodes, ({ numbers }) => numbers >= 6],
  [decodeBinary, ({ binaries, binaryRun }) => binaries >= 4 || binaryRun >= 32],
  [decodePercent, ({ signs }) => (signs & PERCENT) !== 0],
  [decodeEntities, ({ signs }) => (signs & AMPERSAND) !== 0],
  [decodeEscapes, ({ signs }) => (signs & BACKSLASH) !== 0],
  [decodeQuotedPrintable, ({ signs }) => (signs & EQUALS) !== 0],
  [decodeMorse, ({ dots }) => dots >= 12],
  [decodeUnicodeTags, ({ tagCharacters }) => tagCharacters >= 4],
  [decodeVariationSelectors, ({ selectors }) => selectors >= 4],
  [decodeZeroWidthBits, ({ zeroWidth }) => zeroWidth >= 32],
  [decodeBraille, ({ braille }) => braille >= 6],
  [decodeUpsideDown, ({ phonetic }) => phonetic >= 4],
  [decodeRadioAlphabet, ({ tags }) => tags !== undefined && (tags[RADIO] as number) >= 4],
];

/** Asks the decoders whose signs a text has; what they find may overlap. */
export function decodeRuns(text: string, features: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const [decode, hasSign] of DECODERS) {
    if (!hasSign(features)) continue;
    for (const replacement of decode(text, features)) found.push(replacement);
  }
  return found;
}
