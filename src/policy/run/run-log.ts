/** Keeps what runs remember outside of the process. */
import { z } from 'zod';
import { addDigested, digestEntry } from './entries.js';
import type { RunMemory } from './run-memory.js';
import { type DigestedEntry, type Entry, emptyRun } from './run-state.js';

/** Where runs are kept whose next step another process may take. It gets digests, never a text. */
export interface RunLog {
  /** The secret of a run, a whole number from 0 to 2^32 - 1 that stays the same, and its entries, oldest first. */
  read(runId: string): Promise<{ readonly seed: number; readonly entries: readonly string[] }>;
  /** Adds entries, each a line of JSON. The same entry may be added twice. */
  add(runId: string, entries: readonly string[]): Promise<void>;
}

const digest = z.number().int().min(0);
const places = z.array(z.tuple([digest, digest]));
const digestedSchema: z.ZodType<DigestedEntry> = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['trusted', 'call']), key: digest, values: z.array(digest) }),
  z.object({
    role: z.literal('untrusted'),
    key: digest,
    tool: z.string().optional(),
    evidenceId: z.string().optional(),
    probabilities: z.array(z.number().min(0).max(1)),
    foreign: places,
    suspicious: places,
  }),
]) as never;

/** An entry of a log; undefined for a line that was cut off or damaged. */
function readDigested(line: string): DigestedEntry | undefined {
  try {
    return digestedSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** Reads what other processes added to a run. */
export async function recallRun(run: RunMemory): Promise<void> {
  if (run.log === undefined) return;
  const { seed, entries } = await run.log.read(run.id);
  if (run.state.seed !== seed) run.state = emptyRun(seed);
  for (const line of entries) {
    const entry = readDigested(line);
    if (entry !== undefined) addDigested(run.state, entry);
  }
}

/** Adds entries to a run and to its log. */
export async function addToRun(run: RunMemory, entries: readonly Entry[]): Promise<void> {
  const added: string[] = [];
  for (const entry of entries) {
    const digested = digestEntry(run.state, entry);
    if (digested === undefined) continue;
    addDigested(run.state, digested);
    if (run.log !== undefined) added.push(JSON.stringify(digested));
  }
  if (added.length > 0) await run.log?.add(run.id, added);
}
