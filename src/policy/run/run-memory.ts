import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Input, JsonText } from '../../engine/input.js';
import { MAX_DEPTH } from '../redact.js';
import type { RunLog } from './run-log.js';
import { type Entry, emptyRun, type RunState } from './run-state.js';

/** State that a guard keeps of one run. */
export interface RunMemory {
  readonly id: string;
  state: RunState;
  /** Where the run is kept outside of the process. */
  readonly log: RunLog | undefined;
  /** Task of the user, as given with the run. */
  task: string | undefined;
  /** The newest text of the user. */
  said: string | undefined;
  /** Entries that wait to be added to the state, in their order. */
  readonly pending: Entry[];
  /** Whether what is pending waits for a call that is checked: most requests have none. */
  readonly isBrief: boolean;
  /** Secrets that no output may repeat. */
  readonly canaries: Set<string>;
  /** Texts of data for a judge, by evidence id; none where there is no judge. */
  readonly texts: { get(evidenceId: string): string | undefined; set(evidenceId: string, text: string): unknown };
  /**
   * The joint of a text with what was read before it, by the digest of the text: an order may be halved over both. In the order
   * in which the screenings start; one that is screened again has the same joint.
   */
  jointOf(digest: string, readProse: () => string): Joint;
}

/** The end of what was read before a text, and the beginning of the text. */
export interface Joint {
  /** Undefined where nothing was read before, or once both were screened together and may pass. */
  halves: readonly [string, string] | undefined;
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
/** Characters that are kept for a judge, the newest texts. */
const JUDGED_LENGTH = 500_000;
/** Characters on each side of the joint between two texts. */
const JOINT_LENGTH = 300;

export function newRunId(): string {
  return `run_${randomBytes(12).toString('hex')}`;
}

/** `keepsTexts`: for a judge, which is shown what a value stood in. */
export function createRuns(log: RunLog | undefined, keepsTexts: boolean): Runs {
  const open = new AsyncLocalStorage<RunMemory>();
  const byId = new LRUCache<string, RunMemory>({ max: MAX_RUNS, ttl: RUN_MS, updateAgeOnGet: true });
  const byObject = new WeakMap<object, RunMemory>();

  function named(id: RunKey): RunMemory {
    if (typeof id === 'object') {
      const run = byObject.get(id) ?? createMemory(newRunId(), undefined, keepsTexts);
      byObject.set(id, run);
      return run;
    }
    const known = byId.get(id) ?? createMemory(id, log, keepsTexts);
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
    open: (id) => (id === undefined ? createMemory(newRunId(), log, keepsTexts) : named(id)),
    openBrief: (id) => createMemory(id, undefined, keepsTexts, true),
    within: (run, work) => open.run(run, work),
  };
}

function createMemory(id: string, log: RunLog | undefined, keepsTexts: boolean, isBrief = false): RunMemory {
  const joints = new LRUCache<string, Joint>({ max: MAX_TEXTS });
  let end = '';
  return {
    id,
    log,
    state: emptyRun(randomInt(2 ** 32)),
    task: undefined,
    said: undefined,
    pending: [],
    isBrief,
    canaries: new Set(),
    texts: keepsTexts
      ? new LRUCache<string, string>({ maxSize: JUDGED_LENGTH, sizeCalculation: (text) => text.length + 1 })
      : { get: () => undefined, set: () => undefined },
    jointOf(digest, readProse) {
      const known = joints.get(digest);
      if (known !== undefined) return known;
      const prose = readProse();
      const joint: Joint = { halves: end === '' || prose === '' ? undefined : [end, prose.slice(0, JOINT_LENGTH)] };
      joints.set(digest, joint);
      // Nothing said, such as a number of progress, parts no two halves.
      if (prose !== '') end = prose.slice(-JOINT_LENGTH);
      return joint;
    },
  };
}

/** The sentences that an input says: of a structure the strings that are more than an identifier. */
export function proseOf(input: Input): string {
  const value = typeof input === 'string' ? parsed(input) : input instanceof JsonText ? input.toJSON() : input;
  const strings: string[] = [];
  const walk = (member: unknown, depth: number): void => {
    if (typeof member === 'string') strings.push(member);
    else if (typeof member === 'object' && member !== null && depth <= MAX_DEPTH)
      for (const inner of Object.values(member)) walk(inner, depth + 1);
  };
  walk(value, 0);
  return strings.length === 1 ? (strings[0] ?? '') : strings.filter((text) => /\s\S+\s/.test(text)).join('\n');
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
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
