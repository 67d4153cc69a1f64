import { z } from 'zod';
import type { Rule } from '../types.js';

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?$/;
const ID = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?$/;

const patterns = z.array(z.string().min(1)).min(1).readonly();
const steps = z.array(patterns).min(2).max(6).readonly();
const stop = z.enum(['sentence', 'none']);
const text = z.string().min(1);

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

/** One rule file. The defaults are filled in by parsing. */
export const ruleSchema: z.ZodType<Rule> = z
  .strictObject({
    id: z.string().regex(ID, 'write `family.name` in small letters, digits and hyphens'),
    version: z.string().regex(VERSION, 'write a semantic version such as 1.0.0'),
    title: text.max(80),
    description: text.max(400),
    status: z.enum(['experimental', 'stable', 'deprecated']),
    severity: z.enum(['low', 'medium', 'high', 'critical']),
    paranoia: z.union([z.literal(1), z.literal(2), z.literal(3)]).default(1),
    score: z.number().gt(0).max(0.99),
    languages: z
      .array(z.string().regex(LANGUAGE, 'write a BCP 47 tag such as `en` or `zh-Hant`'))
      .readonly()
      .default([]),
    tags: z.array(z.string()).readonly().default([]),
    views: z
      .array(z.enum(['raw', 'folded', 'squeezed', 'decoded', 'hidden']))
      .min(1)
      .readonly()
      .default(['folded', 'squeezed', 'decoded', 'hidden']),
    channels: z
      .array(z.enum(['user', 'document', 'tool_result', 'tool_call']))
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
  })
  .readonly();
