import type { Channel } from '../../engine/channel.js';
import type { EngineInfo } from '../../engine/engine-settings.js';
import type { ExplainedVerdict } from '../../engine/explain.js';
import type { Input } from '../../engine/input.js';
import type { PackChange } from '../../engine/rules/types.js';
import type { Mode } from '../../engine/verdict.js';
import type { Store } from '../../store/store.js';

/** How one input is to be scored. */
export interface ScreeningCall {
  readonly explain: true;
  readonly evidenceId: string;
  /** Default: the engine's own. */
  readonly mode?: Mode | undefined;
  readonly channel?: Channel | undefined;
  readonly task?: string | undefined;
  /** On top of the engine's own packs and overlays. */
  readonly change?: PackChange | undefined;
  /** The account whose call it is: accounts are served in turn. */
  readonly tenant?: string | undefined;
}

/** Whoever scores: the pool of processes, or an engine in this one. */
export interface ScreeningEngine {
  /** Never rejects because of what the text says; an error named `OverloadedError` when too many calls wait. */
  score(input: Input, options: ScreeningCall): Promise<ExplainedVerdict>;
  readonly info: EngineInfo;
  /** How the processes do, for the metrics; an engine in this process has none. */
  stats?(): WorkerStats;
}

/** Metrics of scorer processes. */
export interface WorkerStats {
  /** How many there should be. */
  readonly workers: number;
  /** Process ids of those that are ready. */
  readonly pids: readonly number[];
  /** Those that ended on their own, were killed from outside, hung, or ran out of memory, since the start. */
  readonly lost: number;
  /** Calls that wait for one. */
  readonly waiting: number;
}

/** The part of the store that a screening call uses. */
export type ScreeningStore = Pick<Store, 'keys' | 'usage' | 'evidence' | 'runs' | 'audit' | 'ready'>;

/** Whose key it is. */
export type KeyOwner = NonNullable<Awaited<ReturnType<Store['keys']['find']>>>;
