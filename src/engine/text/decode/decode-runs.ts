import type { Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { decodeBase64 } from './base64.js';

/** Runs of base64 shorter than this are not looked at. */
const MIN_CODE_RUN = 16;

/** Asks the decoders whose signs a text has; what they find may overlap. */
export function decodeRuns(text: string, features: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  if (features.codeRun >= MIN_CODE_RUN) found.push(...decodeBase64(text));
  return found;
}
