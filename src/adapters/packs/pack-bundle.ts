import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { packHeadSchema, wordsSchema } from '../../engine/rules/pack/rule-schema.js';
import { digestPacks, type PackContent } from '../../engine/rules/pack/stack-packs.js';
import { createWordLookup } from '../../engine/rules/pack/word-lists.js';
import { preparePatterns } from '../../engine/rules/pattern/prepare-patterns.js';
import type { Rule } from '../../engine/rules/types.js';
import { isSigned, type MinisignKey } from './minisign.js';
import { readPackFolder } from './pack-folder.js';
import { joinPack, readPrepared, writePrepared } from './prepared-file.js';

const FORMAT = 4;

/** The rules were validated when the bundle was made, so they are not validated again at each start. */
const bundleSchema = z.object({
  format: z.literal(FORMAT),
  head: packHeadSchema,
  words: wordsSchema,
  rules: z.array(z.custom<Rule>((rule) => typeof rule === 'object' && rule !== null)),
});

/** A pack as a file of JSON, with its prepared patterns for a separate binary file. */
export interface PackBundle {
  readonly bundle: string;
  readonly prepared: Uint8Array;
  /** Both in one, without what a scan doesn't need: for `portcullis/web`. Not compressed. */
  readonly web: Uint8Array;
}

/** A pack's content as a bundle whose patterns are prepared when it is loaded. */
export function plainBundle({ head, words, rules }: PackContent): string {
  return asciiJson({ format: FORMAT, head, words, rules });
}

/** JSON in ASCII: Node decodes that several times faster than other UTF-8. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A pack folder as a bundle, so that a start parses neither YAML nor patterns. @throws PackError with every mistake of the folder */
export function bundlePack(folder: string): PackBundle {
  const { content } = readPackFolder(folder);
  const bundle = plainBundle(content);
  const prepared = preparePatterns(content.rules, createWordLookup(content.words, refuse), refuse);
  const digest = digestPacks([content], [], sha256);
  const file = writePrepared(prepared, content.rules, bundle, digest, sha256);
  const noExamples: Rule['examples'] = { positive: [], negative: [], todo_positive: [], todo_negative: [] };
  const rules = content.rules.map((rule) => ({ ...rule, examples: noExamples }));
  return { bundle, prepared: file, web: joinPack(plainBundle({ head: content.head, words: {}, rules }), file) };
}

/**
 * Reads what `bundlePack` wrote: `<name>.json`, and `<name>.bin` if there is one. With `trusted` keys it must be signed by
 * one of them (`<name>.json.minisig`); the prepared patterns, which the signature does not cover, are left alone.
 *
 * @throws PackError when it isn't such a file
 */
export function readPackBundle(path: string, trusted: readonly MinisignKey[] = []): PackContent {
  if (!existsSync(path)) throw bundleError(`There is no file ${path}.`, 'Check the path.');
  const isTrusted = trusted.length > 0;
  const signature = isTrusted ? readSignature(path) : '';
  const bytes = readFileSync(path);
  if (isTrusted && !isSigned(bytes, signature, trusted))
    throw unsigned(`${path} is not what a trusted key signed in ${path}.minisig.`, 'Get both files again.');
  const bundle = parseBundle(bytes);
  const preparedPath = path.replace(/\.json$/, '.bin');
  if (!isTrusted && existsSync(preparedPath)) {
    const { head, words, rules } = (bundle ?? {}) as z.infer<typeof bundleSchema>;
    const file = readPrepared(
      readFileSync(preparedPath),
      rules,
      // Made together with this very bundle, whose content is then valid: a check would take 50 ms of each start.
      (digests, sections) => digests.pack === sha256(bytes) && digests.sections === sha256(sections),
    );
    if (!file)
      throw bundleError(`${preparedPath} doesn't belong to ${path}, or is damaged.`, 'Reinstall, or rebuild both.');
    return { head, words, rules, isChecked: true, prepared: file.prepared, digest: file.digest };
  }
  const checked = bundleSchema.safeParse(bundle);
  if (!checked.success) throw bundleError(`${path} isn't a pack bundle of format ${FORMAT}.`, 'Rebuild it.');
  const { head, words, rules } = checked.data;
  return { head, words, rules, isChecked: true };
}

/** Undefined for what isn't JSON: the error of `JSON.parse` would quote it. */
function parseBundle(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8'));
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

function refuse(): never {
  throw new Error('a pattern or word list has a mistake: run `portcullis rules lint`');
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
