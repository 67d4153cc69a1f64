import { z } from 'zod';

const level = z.union([z.literal(1), z.literal(2), z.literal(3)]);
const date = z.iso.date('write a date as YYYY-MM-DD');

/** A local overlay file: what one deployment changes about its packs, without editing them. */
export const overlaySchema = z
  .strictObject({
    threshold: z.number().gt(0).max(1).optional(),
    paranoia: level.optional(),
    /** By rule id. */
    rules: z
      .record(
        z.string(),
        z.union([
          z.literal('off'),
          z.strictObject({ score: z.number().gt(0).max(0.99).optional(), paranoia: level.optional() }),
        ]),
      )
      .default({}),
    allow: z
      .array(
        z.strictObject({
          text: z.string().min(1).optional(),
          pattern: z.string().min(1).optional(),
          rule: z.string().optional(),
          reason: z.string().min(1),
          /** The last day (UTC) on which the entry counts. */
          expires: date,
        }),
      )
      .readonly()
      .default([]),
  })
  .readonly();

export type Overlay = z.infer<typeof overlaySchema>;
