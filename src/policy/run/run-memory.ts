import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { cropTask, newestTurns } from '../../engine/input.js';
import { type JointEnds, type Joints, jointsOf, type OuterEnds } from './pieces/joints.js';
import { joinLogged, saidBefore, sayLogged } from './pieces/run-texts.js';
import { type DigestedEntry, type Entry, emptyRun, type RunLog, type RunState } from './run-state.js';

/** State that the brief runs of a guard share, as each has the history of the one before once more. */
export interface BriefRuns {
  readonly seed: number;
  /** The digests of entries, each by the digest of the whole entry. */
  readonly digested: {
    get(name: string): DigestedEntry | undefined;
    set(name: string, entry: DigestedEntry): unknown;
    values(): Iterable<DigestedEntry>;
    readonly size: number;
  };
}

/** A host's id of a run, or the object that stands for one, such as its context: the run lives as long as the object. */
export type RunKey = string | object;

export interface Runs {
  /** The current run, or the one with this id; undefined outside of any. */
  find(id: RunKey | undefined): RunMemory | undefined;
  /** A new run, or the one that has this id already. */
  open(id?: RunKey): RunMemory;
  /** A new run that no id leads to. */
  openBrief(id: string): RunMemory;
  within<R>(run: RunMemory, work: () => R): R;
}

/** Runs that are known by an id, and how long one lives unused. One that is open in this process lives as long as its work. */
const MAX_RUNS = 1_000;
const RUN_MS = 3_600_000;
const MAX_TEXTS = 500;
/** Entries that brief runs share, and digests in them, those with a place counted eightfold: some 2,000 messages of 1 kB. */
const MAX_SHARED = 5_000;
const MAX_DIGESTS = 500_000;
/** Characters that are kept for a judge, the newest texts. */
const JUDGED_LENGTH = 500_000;

export function newRunId(): string {
  return `run_${randomBytes(12).toString('hex')}`;
}

/**
 * The current run of each guard. All share one storage: up to Node 22, every promise of the process costs time for each
 * storage that was ever entered.
 */
const open = new AsyncLocalStorage<ReadonlyMap<symbol, RunMemory>>();

/** `keepsTexts`: for a judge, which is shown what a value stood in. */
export function createRuns(log: RunLog | undefined, keepsTexts: boolean): Runs {
  const byId = new LRUCache<string, RunMemory>({ max: MAX_RUNS, ttl: RUN_MS, updateAgeOnGet: true });
  const byObject = new WeakMap<object, RunMemory>();
  /** Key of the guard. A timer or socket that outlives its run keeps the run's context alive, but not the guard's other runs. */
  const guard = Symbol('guard');
  const brief: BriefRuns = {
    seed: newSeed(),
    digested: new LRUCache({ max: MAX_SHARED, maxSize: MAX_DIGESTS, sizeCalculation: countDigests }),
  };

  function named(id: RunKey): RunMemory {
    if (typeof id === 'object') {
      const run = byObject.get(id) ?? new RunMemory(newRunId(), keepsTexts);
      byObject.set(id, run);
      return run;
    }
    const known = byId.get(id) ?? new RunMemory(id, keepsTexts, { log });
    byId.set(id, known);
    return known;
  }

  return {
    find(id) {
      const current = open.getStore()?.get(guard);
      if (id === undefined || id === current?.id) return current;
      // An object stands for a run where nothing says more.
      return typeof id === 'object' && current !== undefined ? current : named(id);
    },
    open: (id) => (id === undefined ? new RunMemory(newRunId(), keepsTexts, { log }) : named(id)),
    openBrief: (id) => new RunMemory(id, keepsTexts, { brief }),
    within: (run, work) => open.run(new Map([...(open.getStore() ?? []), [guard, run]]), work),
  };
}

function newSeed(): number {
  return randomInt(2 ** 32);
}

function countDigests(entry: DigestedEntry): number {
  if (entry.role === 'untrusted') return 1 + 8 * (entry.foreign.length + entry.suspicious.length);
  return 1 + entry.values.length + (entry.domains?.flat().length ?? 0);
}

/** State that a guard keeps of one run. */
export class RunMemory {
  readonly id: string;
  /** Keeps the run outside of the process. */
  readonly log: RunLog | undefined;
  /** Set for a run that ends with its request. Entries stay pending there until a call is checked, as most requests have none. */
  readonly brief: BriefRuns | undefined;
  state: RunState;
  /** Task of the user, as given with the run. */
  task: string | undefined;
  /** The newest turns of the user that were allowed, oldest first. */
  #said: readonly string[] = [];
  /** Entries that wait to be added to the state, in their order. */
  readonly pending: Entry[] = [];
  /** Secrets that no output may repeat. */
  readonly canaries: Set<string> = new Set();
  /** Texts of data for a judge, by evidence id, the newest of them; none where there is no judge. */
  readonly texts: { get(evidenceId: string): string | undefined; set(evidenceId: string, text: string): unknown };
  readonly #joints = new LRUCache<string, Joints | Promise<Joints>>({ max: MAX_TEXTS });
  /** The ends of what was read last. */
  #read: OuterEnds | undefined;

  constructor(id: string, keepsTexts: boolean, { log, brief }: Partial<Pick<RunMemory, 'log' | 'brief'>> = {}) {
    this.id = id;
    this.log = log;
    this.brief = brief;
    this.state = emptyRun(brief?.seed ?? newSeed());
    this.texts = keepsTexts
      ? new LRUCache<string, string>({ maxSize: JUDGED_LENGTH, sizeCalculation: (text) => text.length + 1 })
      : { get: () => undefined, set: () => undefined };
  }

  /**
   * Finds the place of a value in the run, by its digest: behind what the user said, its joints with what was read before it, and those of
   * its strings with each other, as an order may be divided over them. In the order in which the screenings start. A value that is
   * screened again, such as one of the history, stands where it stood.
   */
  jointsOf(digest: string, readValue: () => JointEnds): Joints | Promise<Joints> {
    const known = this.#joints.get(digest);
    if (known !== undefined) return known;
    const ends = readValue();
    const found = this.log?.texts === undefined ? this.#join(ends) : joinLogged(this.log.texts, this.id, ends);
    this.#joints.set(digest, found);
    if (found instanceof Promise) found.catch(() => this.#joints.delete(digest));
    return found;
  }

  /** Adds a turn of the user that was allowed. */
  say(text: string): Promise<void> | undefined {
    if (this.log?.texts !== undefined) return sayLogged(this.log.texts, this.id, text);
    // A copy, since a slice keeps the whole text alive.
    this.#said = newestTurns([...this.#said, structuredClone(cropTask(text)) ?? '']);
    return undefined;
  }

  /** The newest turns of the user, oldest first. */
  async said(): Promise<readonly string[]> {
    return this.log?.texts === undefined ? this.#said : saidBefore(await this.log.texts.read(this.id));
  }

  #join(ends: JointEnds): Joints {
    const joints = jointsOf(ends, this.#read, this.#said);
    // Nothing said, such as a number of progress, parts no two halves.
    if (ends.end !== '') this.#read = { start: ends.start, end: ends.end };
    return joints;
  }
}
