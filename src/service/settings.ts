import { z } from 'zod';

const whole = (min: number, max: number): z.ZodNumber => z.coerce.number().int().min(min).max(max) as z.ZodNumber;

/** Everything an operator may set, as flags and the environment give it: texts become numbers here. */
export const settingsSchema: z.ZodType<ServiceSettings> = z
  .object({
    data: z.string().min(1).optional(),
    databaseUrl: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
    plans: z.string().min(1).optional(),
    keyPepper: z.string().min(32).optional(),
    host: z.string().min(1),
    port: whole(0, 65_535),
    mode: z.enum(['rules', 'hybrid', 'shadow']).optional(),
    pack: z.array(z.string()).optional(),
    overlay: z.array(z.string()).optional(),
    model: z.string().min(1).optional(),
    scorers: whole(1, 256),
    bodyLimit: whole(1_024, 64 * 1024 * 1024),
    callsAtOnce: whole(1, 100_000),
    deadline: whole(100, 600_000),
    signUp: z.enum(['on', 'off']).transform((value) => value === 'on'),
    logLevel: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']),
  })
  .refine(({ data, databaseUrl }) => (data === undefined) !== (databaseUrl === undefined), {
    message: 'give either --data or --database-url',
  });

/** Settings of a running service. */
export interface ServiceSettings {
  /** Folder of the embedded database. Exactly one of `data` and `databaseUrl` is given. */
  readonly data?: string | undefined;
  readonly databaseUrl?: string | undefined;
  /** Plans file, YAML or JSON. */
  readonly plans?: string | undefined;
  /** Secret that keys are hashed with, 32 characters or more. */
  readonly keyPepper?: string | undefined;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly mode?: 'rules' | 'hybrid' | 'shadow' | undefined;
  readonly pack?: readonly string[] | undefined;
  readonly overlay?: readonly string[] | undefined;
  /** Folder, or `off`. */
  readonly model?: string | undefined;
  /** Scorer processes. */
  readonly scorers: number;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly callsAtOnce: number;
  /** Milliseconds that one call may take in a scorer. */
  readonly deadline: number;
  /** Whether strangers may make an account on the dashboard. */
  readonly signUp: boolean;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
}
