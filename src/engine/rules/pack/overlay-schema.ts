import { z } from 'zod';
import { CHANNELS, type Channel } from '../../channel.js';
import type { Allowance, OverlayChange, Paranoia } from '../types.js';

const level = z.union([z.literal(1), z.literal(2), z.literal(3)]);
const orByChannel = <T extends z.ZodType>(value: T) =>
  z.union([value, z.partialRecord(z.enum([...CHANNELS, 'unknown']), value).readonly()]);
const date = z.iso.date('write a date as YYYY-MM-DD');

/** One text or pattern that is allowed, for a reason and until a day. */
export interface OverlayAllowance extends Allowance {
  readonly reason: string;
  /** The last day (UTC) on which the entry counts, `YYYY-MM-DD`. */
  readonly expires: string;
}

/** A local overlay file: what one deployment changes about its packs, without editing them. */
export interface Overlay {
  /** The rules block at or above it, 0..1. */
  readonly threshold?: number | undefined;
  /** The model blocks at or above it, 0..1: in all channels, or by channel. */
  readonly model_threshold?: number | Readonly<Partial<Record<Channel, number>>> | undefined;
  /** The model blocks at this one of its operating points: in all channels, or by channel; not together with `model_threshold`. */
  readonly operating_point?: string | Readonly<Partial<Record<Channel, string>>> | undefined;
  readonly paranoia?: Paranoia | undefined;
  /** By rule id. */
  readonly rules: Readonly<Record<string, 'off' | OverlayChange>>;
  readonly allow: readonly OverlayAllowance[];
}

export const overlaySchema: z.ZodType<Overlay> = z
  .strictObject({
    threshold: z.number().gt(0).max(1).optional(),
    model_threshold: orByChannel(z.number().gt(0).max(1)).optional(),
    operating_point: orByChannel(z.string().min(1)).optional(),
    paranoia: level.optional(),
    rules: z
      .record(
        z.string(),
        z.union([
          z.literal('off'),
          z.strictObject({
            score: z.number().gt(0).max(0.99).optional(),
            paranoia: level.optional(),
            status: z.enum(['stable', 'experimental']).optional(),
          }),
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
          expires: date,
        }),
      )
      .readonly()
      .default([]),
  })
  .refine((it) => it.model_threshold === undefined || it.operating_point === undefined, {
    message: 'give `model_threshold` or `operating_point`, not both',
    path: ['operating_point'],
  })
  .readonly();
