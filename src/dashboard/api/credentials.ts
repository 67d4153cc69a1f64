import { z } from 'zod';

/** An e-mail address, in lower case. */
export const emailSchema: z.ZodType<string> = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .regex(/^[^\s@]+@[^\s@]+$/, 'That is not an e-mail address.');

/** At least 10 characters; no rule about their kinds (NIST SP 800-63B). */
export const passwordSchema: z.ZodType<string> = z.string().min(10, 'At least 10 characters.').max(1000);

/** A password that is compared, not set. */
export const givenPasswordSchema: z.ZodType<string> = z.string().max(1000);
