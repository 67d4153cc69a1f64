import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { errorCode, PortcullisError } from '../../engine/errors.js';
import { PIN_CHANGES, type PinChange } from './pin-event.js';

/** A file of pins that can't be used. The message says what to do; it never quotes a definition. */
class PinFileError extends PortcullisError {
  override readonly name = 'PinFileError';
  readonly code = 'PIN_FILE_INVALID';
}

export interface PinnedDefinition {
  /** SHA-256 of the definition's canonical JSON, 64 hex digits. */
  readonly digest: string;
  /** The same without its name: a renamed tool is found by it. */
  readonly body: string;
  /** The canonical JSON; left out where it is long. */
  readonly definition?: string | undefined;
  /** When it was approved or first offered, ISO 8601. */
  readonly at: string;
}

/** `first-use`: trusted unseen. `person`: approved, also against the engine's verdict. */
export interface ApprovedDefinition extends PinnedDefinition {
  readonly by: 'first-use' | 'person';
}

export interface OfferedDefinition extends PinnedDefinition {
  readonly change: PinChange;
  /** The former name of a renamed tool, or the name that it resembles. */
  readonly of?: string | undefined;
  readonly rule?: string | undefined;
  readonly evidenceId?: string | undefined;
  readonly rejected?: true | undefined;
}

export interface PinnedTool {
  readonly name: string;
  readonly approved?: ApprovedDefinition | undefined;
  readonly offered?: OfferedDefinition | undefined;
}

/** The tools of one server: a list, not an object by name, since a tool may be called `__proto__`. */
export interface PinnedServer {
  readonly name: string;
  /** When it was first used, ISO 8601. */
  readonly since: string;
  readonly tools: readonly PinnedTool[];
}

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const definition = { digest, body: digest, definition: z.string().optional(), at: z.iso.datetime() };
const tool = z.strictObject({
  name: z.string(),
  approved: z.strictObject({ ...definition, by: z.enum(['first-use', 'person']) }).optional(),
  offered: z
    .strictObject({
      ...definition,
      change: z.enum(PIN_CHANGES),
      of: z.string().optional(),
      rule: z.string().optional(),
      evidenceId: z.string().optional(),
      rejected: z.literal(true).optional(),
    })
    .optional(),
});
const server = z.strictObject({ name: z.string(), since: z.iso.datetime(), tools: z.array(tool) });
const fileSchema: z.ZodType<{ readonly servers: readonly PinnedServer[] }> = z.strictObject({
  version: z.literal(1),
  servers: z.array(server),
});

/** Milliseconds that another process may hold the lock; one that holds it longer has died. */
const LOCK_MS = 10_000;

/** The pins of all servers, in the order of their first use; none where there is no file. @throws PinFileError */
export async function readPins(path: string): Promise<readonly PinnedServer[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new PinFileError(`the pin file ${path} can't be read (${errorCode(error) || 'unknown error'})`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data.servers;
  throw new PinFileError(
    `the pin file ${path} is damaged or of a later version: restore it, or delete it to begin with no pins (every tool is then new)`,
  );
}

/**
 * Reads, changes and writes the pins while no other process does. `change` gives the new list, or undefined to leave
 * the file alone. The file is replaced in one step and readable by its owner only.
 *
 * @throws PinFileError
 */
export async function updatePins(
  path: string,
  change: (servers: readonly PinnedServer[]) => readonly PinnedServer[] | undefined,
): Promise<void> {
  const lock = `${path}.lock`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await takeLock(lock);
  } catch (error) {
    if (error instanceof PinFileError) throw error;
    throw new PinFileError(`the pin file ${path} can't be written (${errorCode(error) || 'unknown error'})`);
  }
  try {
    const servers = change(await readPins(path));
    if (servers !== undefined) await replaceFile(path, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`);
  } finally {
    await rm(lock, { force: true });
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await rm(draft, { force: true });
    await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new PinFileError(`the pin file ${path} can't be written (${errorCode(error) || 'unknown error'})`);
  }
}

async function takeLock(lock: string): Promise<void> {
  const until = Date.now() + LOCK_MS;
  for (;;) {
    try {
      await writeFile(lock, '', { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const held = await stat(lock).catch(() => undefined);
    if (held !== undefined && Date.now() - held.mtimeMs > LOCK_MS) await rm(lock, { force: true });
    else if (Date.now() > until) throw new PinFileError(`the pin file is locked by another process: ${lock}`);
    else await pause(20);
  }
}
