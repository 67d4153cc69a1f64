import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { packHeadSchema, wordsSchema } from '../../engine/rules/pack/pack-schema.js';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import type { PreparedPattern } from '../../engine/rules/pattern/prepare-pattern.js';
import { preparePatterns } from '../../engine/rules/pattern/prepared-patterns.js';
import type { Rule } from '../../engine/rules/types.js';
import { readPackFolder } from './pack-folder.js';

const FORMAT = 3;

/** The rules were checked when the bundle was made; parsing each again at every start would cost more than it shows. */
const bundleSchema = z.object({
  format: z.literal(FORMAT),
  head: packHeadSchema,
  words: wordsSchema,
  rules: z.array(z.custom<Rule>((rule) => typeof rule === 'object' && rule !== null)),
  /** By `preparedKey`; `longest` is null where a match has no bound. */
  prepared: z.array(z.tuple([z.string(), z.custom<StoredPattern>((it) => typeof it === 'object' && it !== null)])),
});

type StoredPattern = Omit<PreparedPattern, 'longest' | 'counted'> & {
  readonly longest: number | null;
  readonly counted: number | null;
};

const unbounded = (length: number | null): number => length ?? Number.POSITIVE_INFINITY;

/** A pack's content as a bundle whose patterns are made ready when it is loaded. */
export function plainBundle({ head, words, rules }: PackContent): string {
  return JSON.stringify({ format: FORMAT, head, words, rules, prepared: [] });
}

/** A pack folder as one JSON text, so that a start parses neither YAML nor patterns. @throws PackError with every mistake of the folder */
export function bundlePack(folder: string): string {
  const { content } = readPackFolder(folder);
  const prepared = [...preparePatterns(content.rules, content.words)];
  return JSON.stringify({ format: FORMAT, ...content, prepared });
}

/** Reads what `bundlePack` wrote. @throws PackError when it isn't such a file */
export function readPackBundle(path: string): PackContent {
  const parsed = existsSync(path) ? bundleSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
  if (parsed?.success) {
    const { head, words, rules, prepared } = parsed.data;
    const restored = prepared.map(([key, pattern]): [string, PreparedPattern] => [
      key,
      { ...pattern, longest: unbounded(pattern.longest), counted: unbounded(pattern.counted) },
    ]);
    return { head, words, rules, isChecked: true, prepared: new Map(restored) };
  }
  const message = parsed ? `${path} isn't a pack bundle of format ${FORMAT}.` : `There is no file ${path}.`;
  throw new PackError([
    { code: 'PACK010', message, advice: 'Make it anew.', place: { in: 'pack', name: '', path: [] } },
  ]);
}
