import type { EngineSettings } from './engine-settings.js';
import type { ExplainedVerdict } from './explanation.js';
import type { Input } from './input.js';
import type { Classifier, Clock } from './ports.js';
import type { Channel, CompiledPack, Paranoia } from './rules/types.js';
import type { Mode, Verdict } from './verdict.js';

/** The parts of an engine. */
export interface EngineParts extends EngineSettings {
  readonly pack: CompiledPack;
  readonly model?: Classifier | false | undefined;
  readonly clock: Clock;
  /** Stands in `info`: why the engine runs in its mode, e.g. why there is no model. */
  readonly modeReason?: string | undefined;
  /** A fresh `ev_` and 24 lower-case hex digits. */
  readonly newEvidenceId: () => string;
}

/** How one call is to be made. */
export interface ScanCallOptions {
  /** Where the text comes from; default `tool_call` for `{ name, arguments }`, else `user`. */
  readonly channel?: Channel | undefined;
  /** Adds `explanation` to the verdict. */
  readonly explain?: boolean | undefined;
  /** Stands in the verdict instead of a fresh one. */
  readonly evidenceId?: string | undefined;
  /** Rules above this level are left out. Default: the pack's. */
  readonly paranoia?: Paranoia | undefined;
}

/** How one call with the model's help is to be made. */
export interface AnalyzeOptions extends ScanCallOptions {
  readonly mode?: Mode | undefined;
  readonly timeoutMs?: number | undefined;
}

/** What an engine is made of, for an operator to see. */
export interface EngineInfo {
  readonly mode: Mode;
  /** Why, where there is something to say: e.g. that no model is installed. */
  readonly mode_reason: string | null;
  readonly pack: string;
  readonly rules_version: string;
  /** How many rules the pack has. */
  readonly rules: number;
  /** BCP 47 tags that rules name, sorted. */
  readonly languages: readonly string[];
  readonly rules_threshold: number;
  readonly ml_version: string;
  readonly ml_threshold: number;
  /** Names that `thresholds.model` may take. */
  readonly operating_points: readonly string[];
  readonly timeout_ms: number;
}

type Explained = { readonly explain: true };

/** Screens texts. Reusable; calls may overlap. */
export interface Engine {
  /** Never rejects because of what the text says or what the model does. @throws InputError */
  analyze(input: Input, options: AnalyzeOptions & Explained): Promise<ExplainedVerdict>;
  analyze(input: Input, options?: AnalyzeOptions): Promise<Verdict>;
  /** Verdicts in the order of the inputs, `concurrency` (default 4) of them under way at once. */
  analyzeMany(
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: AnalyzeOptions & { readonly concurrency?: number | undefined },
  ): AsyncGenerator<Verdict | ExplainedVerdict, void, undefined>;
  /** The rules alone, at once: a verdict of mode `rules`. */
  scan(input: Input, options: ScanCallOptions & Explained): ExplainedVerdict;
  scan(input: Input, options?: ScanCallOptions): Verdict;
  readonly info: EngineInfo;
  /** Makes the first call as fast as the next ones. Rejects with a `ModelError` when the model can't be had. */
  warmUp(): Promise<void>;
  /** Ends the model; calls after it are answered by the rules. */
  close(): Promise<void>;
}
