import type { EngineInfo } from '../../engine/engine-settings.js';
import type { ExplainedVerdict } from '../../engine/explain.js';
import type { Input } from '../../engine/input.js';
import type { Store } from '../../store/store.js';
import type { ScoreOptions } from '../../workers/calls.js';
import type { EnginePoolStats } from '../../workers/engine-pool.js';

/** Options for scoring one input, always with its explanation. `tenant`: the account whose call it is. */
export interface ScreeningCall extends Pick<ScoreOptions, 'mode' | 'channel' | 'task' | 'change' | 'tenant'> {
  readonly explain: true;
  readonly evidenceId: string;
}

/** Whoever scores: the pool of processes, or an engine in this one. */
export interface ScreeningEngine {
  /** Never rejects because of what the text says; an error named `OverloadedError` when too many calls wait. */
  score(input: Input, options: ScreeningCall): Promise<ExplainedVerdict>;
  readonly info: EngineInfo;
  /** State of the processes, for the metrics; an engine in this process has none. */
  stats?(): Pick<EnginePoolStats, 'workers' | 'ready' | 'lost' | 'waiting'>;
}

/** The part of the store that a screening call uses. */
export type ScreeningStore = Pick<Store, 'keys' | 'usage' | 'evidence' | 'runs' | 'audit' | 'ready'>;

export type KeyOwner = NonNullable<Awaited<ReturnType<Store['keys']['find']>>>;
