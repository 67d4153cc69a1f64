import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { PackError } from '../engine/rules/pack-error.js';
import { packHeadSchema, wordsSchema } from '../engine/rules/pack-schema.js';
import type { PackContent } from '../engine/rules/stack-packs.js';
import type { Rule } from '../engine/rules/types.js';
import { readPackFolder } from './pack-folder.js';

const FORMAT = 1;

/** The rules were checked when the bundle was made; parsing each again at every start would cost more than it shows. */
const bundleSchema = z.object({
  format: z.literal(FORMAT),
  head: packHeadSchema,
  words: wordsSchema,
  rules: z.array(z.custom<Rule>((rule) => typeof rule === 'object' && rule !== null)),
});

/** A pack folder as one JSON text, so that a start parses no YAML. @throws PackError with every mistake of the folder */
export function bundlePack(folder: string): string {
  return JSON.stringify({ format: FORMAT, ...readPackFolder(folder).content });
}

/** Reads what `bundlePack` wrote. @throws PackError when it isn't such a file */
export function readPackBundle(path: string): PackContent {
  const parsed = existsSync(path) ? bundleSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
  if (parsed?.success)
    return { head: parsed.data.head, words: parsed.data.words, rules: parsed.data.rules, isChecked: true };
  const message = parsed ? `${path} isn't a pack bundle of format ${FORMAT}.` : `There is no file ${path}.`;
  throw new PackError([
    { code: 'PACK010', message, advice: 'Make it anew.', place: { in: 'pack', name: '', path: [] } },
  ]);
}
