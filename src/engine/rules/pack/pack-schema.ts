import { z } from 'zod';
import type { Paranoia, WordLists } from '../types.js';

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
