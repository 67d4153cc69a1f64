import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { packHeadSchema, wordsSchema } from '../../engine/rules/pack/rule-schema.js';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import type { Rule } from '../../engine/rules/types.js';
import { isSigned, type MinisignKey } from './minisign.js';

const FORMAT = 4;

/** The rules were validated when the bundle was made, so they are not validated again at each start. */
const bundleSchema = z.object({
  format: z.literal(FORMAT),
  head: packHeadSchema,
  words: wordsSchema,
  rules: z.array(z.custom<Rule>((rule) => typeof rule === 'object' && rule !== null)),
});

/** A pack's content as one file of JSON, which can be signed. Its patterns are prepared when it is loaded. */
export function writePackBundle({ head, words, rules }: PackContent): string {
  return JSON.stringify({ format: FORMAT, head, words, rules });
}

/**
 * Reads what `writePackBundle` wrote. With `trusted` keys it must be signed by one of them (`<name>.json.minisig`).
 *
 * @throws PackError when it isn't such a file
 */
export function readPackBundle(path: string, trusted: readonly MinisignKey[] = []): PackContent {
  if (!existsSync(path)) throw bundleError(`There is no file ${path}.`, 'Check the path.');
  const signature = trusted.length > 0 ? readSignature(path) : '';
  const bytes = readFileSync(path);
  if (trusted.length > 0 && !isSigned(bytes, signature, trusted))
    throw unsigned(`${path} is not what a trusted key signed in ${path}.minisig.`, 'Get both files again.');
  const checked = bundleSchema.safeParse(parseBundle(bytes));
  if (!checked.success) throw bundleError(`${path} isn't a pack bundle of format ${FORMAT}.`, 'Rebuild it.');
  const { head, words, rules } = checked.data;
  return { head, words, rules, isChecked: true };
}

/** Undefined for what isn't JSON: the error of `JSON.parse` would quote it. */
function parseBundle(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function readSignature(path: string): string {
  const file = `${path}.minisig`;
  if (!existsSync(file)) throw unsigned(`${path} is not signed: there is no ${file}.`, 'Name a signed bundle.');
  return readFileSync(file, 'utf8');
}

const unsigned = (message: string, advice: string): PackError => bundleError(message, advice, 'PACK016');

function bundleError(message: string, advice: string, code = 'PACK010'): PackError {
  return new PackError([{ code, message, advice, place: { in: 'pack', name: '', path: [] } }]);
}
