import { z } from 'zod';
import { CHANNELS } from '../../channel.js';
import type { Paranoia, Rule, WordLists } from '../types.js';
import type { Language, MultilingualRule } from './multilingual.js';

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?$/;
const ID = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MULTILINGUAL_ID = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*-\{code\}$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?$/;

const patterns = z.array(z.string().min(1)).min(1).readonly();
const steps = z.array(patterns).min(2).max(6).readonly();
const stop = z.enum(['sentence', 'none']);
const text = z.string().min(1);
const languageTag = z.string().regex(LANGUAGE, 'write a BCP 47 tag such as `en` or `zh-Hant`');
const shapeName = z.string().regex(/^[a-z]+(?:-[a-z]+)*$/, 'write a name such as `verb-first`');

const match = z.union([
  z.strictObject({ any: patterns }),
  z.strictObject({ sequence: steps, gap: z.int().min(0).max(400).optional(), stop: stop.optional() }),
  z.strictObject({ all: steps, within: z.int().min(1).max(1000).optional(), stop: stop.optional() }),
]);

/** A list that is still empty in the file (`positive:` and nothing more) is null to YAML; the linter then asks for entries. */
const examples = <T extends z.ZodType>(example: T) =>
  z
    .array(example)
    .nullish()
    .transform((list) => list ?? []);
const positive = examples(z.strictObject({ text, hit: z.string() }));
const negative = examples(z.strictObject({ text, why: text }));

const ruleFields = {
  id: z.string().regex(ID, 'write `family.name` in small letters, digits and hyphens'),
  version: z.string().regex(VERSION, 'write a semantic version such as 1.0.0'),
  title: text.max(80),
  description: text.max(400),
  status: z.enum(['experimental', 'stable', 'deprecated']),
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  paranoia: z.union([z.literal(1), z.literal(2), z.literal(3)]).default(1),
  score: z.number().gt(0).max(0.99),
  languages: z.array(languageTag).readonly().default([]),
  tags: z.array(z.string()).readonly().default([]),
  views: z
    .array(z.enum(['raw', 'folded', 'squeezed', 'decoded', 'hidden']))
    .min(1)
    .readonly()
    .default(['folded', 'squeezed', 'decoded', 'hidden']),
  channels: z
    .array(z.enum([...CHANNELS, 'unknown']))
    .readonly()
    .default([]),
  match,
  except: z.array(z.string().min(1)).readonly().default([]),
  examples: z
    .strictObject({
      positive,
      negative,
      todo_positive: positive,
      todo_negative: negative,
    })
    .prefault({}),
  falsePositives: z.array(text).readonly().default([]),
  references: z
    .array(z.url({ protocol: /^https$/ }))
    .readonly()
    .default([]),
};

/** One rule file. The defaults are filled in by parsing. */
export const ruleSchema: z.ZodType<Rule> = z.strictObject(ruleFields).readonly();

const { languages: _languages, examples: ruleExamples, ...sharedFields } = ruleFields;

/** A file `NAME.multilingual.yaml`: what one rule has in common in all its languages. */
export const multilingualSchema: z.ZodType<MultilingualRule> = z
  .strictObject({
    ...sharedFields,
    id: z.string().regex(MULTILINGUAL_ID, 'write `family.name-{code}`'),
    match: match.optional(),
    shapes: z.record(shapeName, match).default({}),
  })
  .readonly();

const languageRuleSchema = z.strictObject({
  version: ruleFields.version.optional(),
  status: ruleFields.status.optional(),
  score: ruleFields.score.optional(),
  shape: shapeName.optional(),
  match: match.optional(),
  also: patterns.optional(),
  except: ruleFields.except,
  examples: ruleExamples,
});

/** A file `languages/CODE.yaml`: the words of one language, and its part in the multilingual rules. */
export const languageSchema: z.ZodType<Language> = z
  .strictObject({
    code: languageTag,
    name: text,
    tags: z.array(languageTag).min(1).readonly().optional(),
    letters: z
      .string()
      .regex(/^[^[\]\\^]+$/, 'write ranges such as `a-z`')
      .optional(),
    order: shapeName.optional(),
    words: z.record(
      z.string().regex(/^[a-z][a-z0-9-]*$/, 'write a name in small letters and hyphens'),
      z.array(z.string().min(1)).readonly(),
    ),
    rules: z.record(z.string(), languageRuleSchema).default({}),
  })
  .readonly();

/** `pack.yaml`: what a pack folder says about itself. */
export interface PackHead {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly licence: string;
  /** Rules block at or above this score, 0..1. */
  readonly threshold: number;
  readonly paranoia: Paranoia;
}

export const packHeadSchema: z.ZodType<PackHead> = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'write small letters, digits and hyphens'),
    version: z.string().regex(/^\d+\.\d+\.\d+$/, 'write a semantic version such as 1.0.0'),
    description: z.string().min(1),
    licence: z.string().min(1),
    threshold: z.number().gt(0).max(1),
    paranoia: z.union([z.literal(1), z.literal(2), z.literal(3)]).default(1),
  })
  .readonly();

/** A word list file: list name to RE2 fragments. */
export const wordsSchema: z.ZodType<WordLists> = z.record(
  z.string().regex(/^[a-z][a-z0-9-]*(?:\.[a-zA-Z-]+)?$/, 'write `name` or `name.language`'),
  z.array(z.string().min(1)).min(1).readonly(),
);
