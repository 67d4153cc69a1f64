import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

const tagsSchema = z.record(z.string(), z.record(z.string(), z.string()));

const suppressionsSchema: z.ZodType<Suppressions> = z.record(
  z.string(),
  z.record(z.string(), z.strictObject({ count: z.number().int().positive(), reason: z.string().min(20) })),
);
const counts = z.object({ attacks: z.number(), benign: z.number() });
const evidenceSchema: z.ZodType<RuleEvidence> = z.object({
  rules_version: z.string(),
  every: z.number(),
  files: z.array(z.object({ name: z.string() })),
  texts: counts,
  hits: z.record(z.string(), counts.extend({ matcher: z.string() })),
});

/** By rule id and code: how many problems are accepted, and why. */
type Suppressions = Readonly<
  Record<string, Readonly<Record<string, { readonly count: number; readonly reason: string }>>>
>;

/** How many texts of each label. */
export interface TextCounts {
  readonly attacks: number;
  readonly benign: number;
}

/** How many texts of the labelled sets each core rule matches. */
export interface RuleEvidence {
  readonly rules_version: string;
  /** The sampling interval: one text in `every` was read. */
  readonly every: number;
  readonly files: readonly { readonly name: string }[];
  readonly texts: TextCounts;
  /** By rule id; `matcher` is the digest of the patterns that matched them (`matcherDigest`). */
  readonly hits: Readonly<Record<string, TextCounts & { readonly matcher: string }>>;
}

/** The tags that rules may carry, as `namespace:id`, read from `rules/tags.yaml`. */
export function readTags(): ReadonlySet<string> {
  const text = readData('tags.yaml');
  const spaces = text === undefined ? {} : tagsSchema.parse(parse(text));
  return new Set(Object.entries(spaces).flatMap(([space, ids]) => Object.keys(ids).map((id) => `${space}:${id}`)));
}

/** The lint problems of core that are accepted, read from `rules/lint-suppressions.json`: by rule id and code. */
export function readSuppressions(): Suppressions {
  const text = readData('lint-suppressions.json');
  return text === undefined ? {} : suppressionsSchema.parse(JSON.parse(text));
}

/** The evidence for the rules of core, read from `rules/EVIDENCE.json`; undefined where that file is missing. */
export function readEvidence(): RuleEvidence | undefined {
  const text = readData('EVIDENCE.json');
  return text === undefined ? undefined : evidenceSchema.parse(JSON.parse(text));
}

/** A file of the `rules` folder that ships with Portcullis; undefined where it is missing. */
function readData(name: string): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'rules', name);
    if (existsSync(path)) return readFileSync(path, 'utf8');
    if (dirname(folder) === folder) return undefined;
  }
}
