import type { Span } from '../../engine/span.js';

/** Kind of a value that a run follows from untrusted data into calls. */
export type ValueKind =
  | 'email'
  | 'url'
  | 'host'
  | 'account'
  | 'phone'
  | 'wallet'
  | 'handle'
  | 'path'
  | 'secret'
  | 'words';

export interface Value {
  readonly kind: ValueKind;
  /** The value in the one form that is compared. */
  readonly text: string;
  /** The digits of a number within its country, where they are others. */
  readonly national?: string;
  /** Host that mail or a request to it goes to, as it is written. */
  readonly host?: string;
  /** In the folded text. */
  readonly start: number;
  readonly end: number;
}

/** A part of a text, and how probably it is an attack. */
export interface Passage extends Span {
  readonly probability: number;
}

/**
 * Entries of a run, in order. `trusted`: by the operator or the user. `call`: arguments of a call that was made; `lookup`: of one
 * that only read. `untrusted`: by a tool or a document; `suspicious` are its passages that may be read but must not act.
 */
export type Entry =
  | { readonly role: GivenDigests['role']; readonly text: string }
  | {
      readonly role: 'untrusted';
      readonly text: string;
      readonly tool?: string | undefined;
      readonly evidenceId?: string | undefined;
      readonly suspicious: readonly Passage[];
    };

/** The digests of data: values and words with their places, a place within this text. Says no text. */
export interface UntrustedDigests {
  readonly role: 'untrusted';
  /** Of the whole entry. */
  readonly key: number;
  readonly tool: string | undefined;
  readonly evidenceId: string | undefined;
  readonly time?: string | undefined;
  /** Of its suspicious passages. */
  readonly probabilities: readonly number[];
  readonly foreign: readonly (readonly [key: number, place: number])[];
  readonly suspicious: readonly (readonly [key: number, place: number])[];
}

/** The digests of what the operator, the user or the model said. */
export interface GivenDigests {
  readonly role: 'trusted' | 'call' | 'lookup';
  /** Of the whole entry. */
  readonly key: number;
  /** Those of the forms of one value in a list. */
  readonly values: readonly (number | readonly number[])[];
  /** Of each value of a call its host and the domains above, as far as it has any. */
  readonly domains?: readonly (readonly number[])[] | undefined;
}

/** An entry as a run keeps it. */
export type DigestedEntry = UntrustedDigests | GivenDigests;

/** Keeps runs whose next step another process may take. */
export interface RunLog {
  /** The secret of a run, a whole number from 0 to 2^32 - 1 that stays the same, and its entries, oldest first. */
  read(runId: string): Promise<{ readonly seed: number; readonly entries: readonly string[] }>;
  /** Adds entries: digests, never a text. The same one may be added twice. */
  add(runId: string, entries: readonly RunEntry[]): Promise<void>;
  /** Without it, an order split across results of two processes is not found, and user turns of other processes are not used as the task. */
  readonly texts?: RunTextLog | undefined;
}

/** Keeps the texts that the next step of a run needs as they are. */
export interface RunTextLog {
  /**
   * The newest texts of a run, in the order in which they were added, the same for all processes. `name`: the one that is looked for,
   * since a log may keep names under a key.
   */
  read(runId: string, name?: string): Promise<readonly RunText[]>;
  /** Adds a text. Adding data again has no effect; adding a user turn again makes it the newest. */
  add(runId: string, text: RunText): Promise<void>;
}

/** A text of a run: the end of data that was read, at most 300 characters, or a turn of the user, at most 4,000. */
export interface RunText {
  readonly kind: 'read' | 'said';
  /** Digest of the whole text, 64 hex digits. */
  readonly name: string;
  readonly text: string;
  /** Of data: its beginning, at most 300 characters. Without it, an order is not found whose second half is read first. */
  readonly start?: string | undefined;
  /** Of data: what the user had said when it was read first, at most 4,000 characters. */
  readonly task?: string | undefined;
}

/** An entry of a run. */
export interface RunEntry {
  /** The same for the same text in a run. */
  readonly name: string;
  /** A line of JSON. */
  readonly line: string;
}

/** First place of a value in untrusted data. `tool` and so on are undefined where the run has forgotten them. */
export interface Origin {
  readonly tool: string | undefined;
  readonly evidenceId: string | undefined;
  /** When it came in, ISO 8601. */
  readonly time?: string | undefined;
  /** Of the passage, 0..1; undefined for one that isn't suspicious. */
  readonly probability: number | undefined;
  /** In the text of the source, UTF-16 code units. */
  readonly span: Span;
}

/** The text that a value stood in. */
export type Source = Omit<Origin, 'span'>;

/** Everything that a run remembers: digests alone, no text. Bounded in each part; the oldest are forgotten first. */
export interface RunState {
  /** Secret of the run, or of all brief runs of a guard: without it nobody can write a value with the digest of another. */
  readonly seed: number;
  /** Values and words that the operator or the user gave. */
  readonly trusted: Map<number, true>;
  /** Values and words that the model brought in itself, before data held them: whether by a call that does more than read. */
  readonly own: Map<number, boolean>;
  /** Values in untrusted data, with their places. */
  readonly foreign: Map<number, number>;
  /** Values and words in suspicious passages, with their places. */
  readonly suspicious: Map<number, number>;
  readonly sources: Map<number, Source>;
  /** Digests of the entries, so that a history which is handed over again adds nothing. */
  readonly entries: Map<number, true>;
  nextSource: number;
}

/** Starts a run. `seed` is a whole number. */
export function emptyRun(seed: number): RunState {
  return {
    seed,
    trusted: new Map(),
    own: new Map(),
    foreign: new Map(),
    suspicious: new Map(),
    sources: new Map(),
    entries: new Map(),
    nextSource: 0,
  };
}
