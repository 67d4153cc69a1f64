import type { AnalyzeOptions } from '../engine/engine.js';
import type { Thresholds } from '../engine/engine-settings.js';
import { PortcullisError } from '../engine/errors.js';
import type { EngineLimits } from '../engine/limits.js';
import type { PackChange } from '../engine/rules/types.js';
import type { Mode } from '../engine/verdict.js';

/** Parts that the engine of each worker is made of; all of them can be sent to another process. */
export interface EngineWorkerSettings {
  /** Packs from the bottom up, as `loadPack` takes them; default the library's own. */
  readonly packs?: readonly string[] | undefined;
  /** Paths of overlay files, a later one wins. */
  readonly overlays?: readonly string[] | undefined;
  /** `YYYY-MM-DD`: decides which allow-list entries have expired. Default: today in UTC when the pool opens. */
  readonly today?: string | undefined;
  /** A model folder, `false` for none; left out: the library's own where it can run. */
  readonly model?: string | false | undefined;
  readonly mode?: Mode | undefined;
  readonly thresholds?: Thresholds | undefined;
  /** Milliseconds after which the engine leaves the model and answers by the rules. Default: the engine's. */
  readonly timeoutMs?: number | undefined;
  /** Bounds of the engine that replace its own. */
  readonly limits?: Partial<EngineLimits> | undefined;
}

/** How one input is to be scored. */
export interface ScoreOptions
  extends Pick<AnalyzeOptions, 'explain' | 'channel' | 'task' | 'evidenceId' | 'mode' | 'tenant'> {
  /** On top of the pool's packs and overlays, for this call alone; its thresholds come before the pool's. Default: nothing. */
  readonly change?: PackChange | undefined;
  /** Milliseconds a worker may take over it before it is killed. Default: the pool's. */
  readonly deadlineMs?: number | undefined;
  /** Milliseconds the call may wait for a worker; then it is refused with `OverloadedError`. Default: no bound. */
  readonly waitMs?: number | undefined;
}

export type WorkerCall = ScoreCall | TaskCall;

export interface ScoreCall {
  readonly kind: 'score';
  /** The input's text; of anything but a string its canonical JSON text. */
  readonly text: string;
  readonly isJson: boolean;
  /** Of an input that isn't a string. */
  readonly isToolCall?: boolean | undefined;
  readonly options: Omit<ScoreOptions, 'deadlineMs' | 'waitMs'>;
  /** True: the rules alone, as if the model had failed. */
  readonly withoutModel: boolean;
}

/** A task for the workers' own program; any value that can be cloned (structured clone). */
export interface TaskCall {
  readonly kind: 'task';
  readonly task: unknown;
}

/** A request to a worker: to open its engine, answered by the engine's facts, or a call, answered by its verdict or the task's result. */
export type ToWorker = { readonly kind: 'open'; readonly settings: EngineWorkerSettings } | WorkerCall;

/** The pool takes no more calls now: its queue is full, or the call waited too long. Nothing was scored. */
export class OverloadedError extends PortcullisError {
  override readonly name = 'OverloadedError';
  readonly code = 'OVERLOADED';
}

/** A call that no worker could answer. */
export class ScoringError extends PortcullisError {
  override readonly name = 'ScoringError';
  /**
   * `SCORER_LOST`: workers were lost over this very text, twice. `SCORER_UNAVAILABLE`: no worker comes up.
   * `SCORER_CLOSED`: the pool was closed. `SCORER_REFUSED`: the settings don't make an engine.
   */
  readonly code: 'SCORER_LOST' | 'SCORER_UNAVAILABLE' | 'SCORER_CLOSED' | 'SCORER_REFUSED';

  constructor(code: ScoringError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
