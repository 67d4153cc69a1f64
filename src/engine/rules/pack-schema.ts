import { z } from 'zod';

/** `pack.yaml`: what a pack folder says about itself. */
export const packHeadSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'write small letters, digits and hyphens'),
    version: z.string().regex(/^\d+\.\d+\.\d+$/, 'write a semantic version such as 1.0.0'),
    description: z.string().min(1),
    licence: z.string().min(1),
    threshold: z.number().gt(0).max(1),
    paranoia: z.union([z.literal(1), z.literal(2), z.literal(3)]).default(1),
  })
  .readonly();

export type PackHead = z.infer<typeof packHeadSchema>;

/** A word list file: list name to RE2 fragments. */
export const wordsSchema = z.record(
  z.string().regex(/^[a-z][a-z0-9-]*(?:\.[a-zA-Z-]+)?$/, 'write `name` or `name.language`'),
  z.array(z.string().min(1)).min(1).readonly(),
);
