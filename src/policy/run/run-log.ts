/** Keeps what runs remember outside of the process. */
import { z } from 'zod';
import { digestInput } from '../screener.js';
import { addDigested, digestEntry } from './entries.js';
import type { BriefRuns, RunMemory } from './run-memory.js';
import { type DigestedEntry, type Entry, emptyRun, type RunEntry, type RunState } from './run-state.js';

const digest = z.number().int().min(0);
const places = z.array(z.tuple([digest, digest]));
const digestedSchema: z.ZodType<DigestedEntry> = z.discriminatedUnion('role', [
  z.object({
    role: z.enum(['trusted', 'call', 'lookup']),
    key: digest,
    values: z.array(z.union([digest, z.array(digest)])),
    domains: z.array(z.array(digest)).optional(),
  }),
  z.object({
    role: z.literal('untrusted'),
    key: digest,
    tool: z.string().optional(),
    evidenceId: z.string().optional(),
    time: z.iso.datetime().optional(),
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

/** Brings a run up to date: with what other processes added, and with what waits to be added. */
export async function catchUp(run: RunMemory): Promise<void> {
  await recallRun(run);
  const added = applyEntries(run, run.pending.splice(0));
  if (added.length > 0) await run.log?.add(run.id, added.map(toRunEntry));
}

async function recallRun(run: RunMemory): Promise<void> {
  if (run.log === undefined) return;
  const { seed, entries } = await run.log.read(run.id);
  if (run.state.seed !== seed) run.state = emptyRun(seed);
  addLines(run.state, entries);
}

/** Adds entries of a log to a state and returns it. */
export function addLines(state: RunState, lines: readonly string[]): RunState {
  for (const line of lines) {
    const entry = readDigested(line);
    if (entry !== undefined) addDigested(state, entry);
  }
  return state;
}

/** Adds entries to the state of a run; gives those that are new to it. */
export function applyEntries(
  run: Pick<RunMemory, 'state'> & Partial<Pick<RunMemory, 'brief'>>,
  entries: readonly Entry[],
): readonly DigestedEntry[] {
  const added: DigestedEntry[] = [];
  for (const entry of entries) {
    const { state, brief } = run;
    const digested = brief === undefined ? digestEntry(state, entry, now()) : digestOnce(state, entry, brief);
    if (digested === undefined) continue;
    addDigested(run.state, digested);
    added.push(digested);
  }
  return added;
}

function now(): string {
  return new Date().toISOString();
}

/** An entry as a log keeps it. */
export function toRunEntry(entry: DigestedEntry): RunEntry {
  return { name: String(entry.key), line: JSON.stringify(entry) };
}

/** The digests of an entry, which an earlier brief run may have read: they depend on the entry and the seed alone. */
function digestOnce(state: RunState, entry: Entry, { digested }: BriefRuns): DigestedEntry | undefined {
  const name = digestInput(JSON.stringify(entry), 'unknown');
  const known = digested.get(name);
  if (known !== undefined) return known;
  const read = digestEntry(state, entry, now());
  if (read !== undefined) digested.set(name, read);
  return read;
}
