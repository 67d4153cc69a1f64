import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Input, JsonText } from '../../engine/input.js';
import { isContainer, MAX_DEPTH } from '../redact.js';
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

/** Texts around the joints of a value. */
export interface Joints {
  /** The end of what was read before, and the ends of the value's strings, in their order. Undefined once they have passed, and where there are fewer than two. */
  pieces: readonly string[] | undefined;
}

/** A host's id of a run, or the object that stands for one, such as its context: the run lives as long as the object. */
export type RunKey = string | object;

/** The runs of a guard. */
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
const MAX_TEXTS = 1_000;
/** Entries that brief runs share, and digests in them, those with a place counted eightfold: some 2,000 messages of 1 kB. */
const MAX_SHARED = 5_000;
const MAX_DIGESTS = 500_000;
/** Characters that are kept for a judge, the newest texts. */
const JUDGED_LENGTH = 500_000;
/** Characters on each side of a joint, and around all joints of one value. */
const JOINT_LENGTH = 300;
const JOINTS_LENGTH = 6_000;

export function newRunId(): string {
  return `run_${randomBytes(12).toString('hex')}`;
}

/** `keepsTexts`: for a judge, which is shown what a value stood in. */
export function createRuns(log: RunLog | undefined, keepsTexts: boolean): Runs {
  const open = new AsyncLocalStorage<RunMemory>();
  const byId = new LRUCache<string, RunMemory>({ max: MAX_RUNS, ttl: RUN_MS, updateAgeOnGet: true });
  const byObject = new WeakMap<object, RunMemory>();
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
      const current = open.getStore();
      if (id === undefined || id === current?.id) return current;
      // An object stands for a run where nothing says more.
      return typeof id === 'object' && current !== undefined ? current : named(id);
    },
    open: (id) => (id === undefined ? new RunMemory(newRunId(), keepsTexts, { log }) : named(id)),
    openBrief: (id) => new RunMemory(id, keepsTexts, { brief }),
    within: (run, work) => open.run(run, work),
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
  /** Where the run is kept outside of the process. */
  readonly log: RunLog | undefined;
  /** Set for a run that ends with its request. Entries stay pending there until a call is checked, as most requests have none. */
  readonly brief: BriefRuns | undefined;
  state: RunState;
  /** Task of the user, as given with the run. */
  task: string | undefined;
  /** The newest text of the user. */
  said: string | undefined;
  /** Entries that wait to be added to the state, in their order. */
  readonly pending: Entry[] = [];
  /** Secrets that no output may repeat. */
  readonly canaries: Set<string> = new Set();
  /** Texts of data for a judge, by evidence id, the newest of them; none where there is no judge. */
  readonly texts: { get(evidenceId: string): string | undefined; set(evidenceId: string, text: string): unknown };
  readonly #joints = new LRUCache<string, Joints>({ max: MAX_TEXTS });
  /** The end of what was read last. */
  #end = '';

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
   * The joints of a value with what was read before it, and of its strings with each other, by the digest of the value: an order
   * may be divided over them. In the order in which the screenings start. A value that is screened again, such as one of the
   * history, has the same joints.
   */
  jointsOf(digest: string, readProse: () => readonly string[]): Joints {
    const known = this.#joints.get(digest);
    if (known !== undefined) return known;
    const prose = readProse();
    const pieces = endsOf(this.#end === '' ? prose : [this.#end, ...prose]);
    const found: Joints = { pieces: pieces.length < 2 ? undefined : pieces };
    this.#joints.set(digest, found);
    // Nothing said, such as a number of progress, parts no two halves.
    if (prose.length > 0) this.#end = structuredClone(prose.join('\n').slice(-JOINT_LENGTH));
    return found;
  }
}

/** Texts around the joints between others; of many, 100 pieces at most. Copies, since a slice keeps the whole text alive. */
function endsOf(texts: readonly string[]): readonly string[] {
  let left = JOINTS_LENGTH;
  return texts.flatMap((text, at) => {
    const [before, after] = [text.slice(0, JOINT_LENGTH), text.slice(-JOINT_LENGTH)];
    const ends = text.length > 2 * JOINT_LENGTH ? [before, after] : [text];
    const pieces = at === 0 ? [after] : at === texts.length - 1 ? [before] : ends;
    for (const piece of pieces) left -= Math.max(piece.length, JOINTS_LENGTH / 100);
    return left < 0 ? [] : structuredClone(pieces);
  });
}

/**
 * The sentences that a value of plain objects and lists says, in its order: the strings that are more than an identifier, or its
 * only one. JSON in a string is read.
 */
export function proseOf(value: unknown): readonly string[] {
  const strings: string[] = [];
  const walk = (given: unknown, depth: number): void => {
    const member = given instanceof JsonText ? given.toJSON() : parsedJson(given);
    if (typeof member === 'string') strings.push(member);
    else if (isContainer(member) && depth <= MAX_DEPTH)
      for (const inner of Object.values(member)) walk(inner, depth + 1);
  };
  walk(value, 0);
  return strings.length === 1 ? strings : strings.filter((text) => /\s\S+\s/.test(text));
}

/** The value of a text that is an object or a list of JSON; the given value where it is none. */
export function parsedJson(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text of an input without the escapes of JSON, of the same length, so that offsets stay. */
export function plainText(input: Input): string {
  if (!(input instanceof JsonText)) return String(input);
  return input.text.replace(/\\(?:u[\da-f]{4}|.)/g, (escaped) =>
    escaped === '\\\\' ? '\\\u200b' : ' '.repeat(escaped.length),
  );
}
