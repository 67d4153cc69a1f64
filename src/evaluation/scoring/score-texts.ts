import { availableParallelism } from 'node:os';
import { createEngine } from '../../adapters/create-engine.js';
import { loadModel } from '../../adapters/model/load-model.js';
import { findModel } from '../../adapters/model/model-folder.js';
import { openPack } from '../../adapters/packs/open-pack.js';
import { byChannel, type Channel, type ModelThresholds } from '../../engine/channel.js';
import { createLimit } from '../../engine/limit.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import type { LabelledText } from '../rows/labelled-text.js';
import type { RuleHit } from './scan-text.js';
import { scoreRules, TuningError } from './score-rules.js';

/** A text with what each side says of it. */
export interface ScoredText extends LabelledText {
  readonly rulesScore: number;
  readonly rule: string | null;
  readonly hits: readonly RuleHit[];
  readonly micros: number;
  /** Null where no model was asked, or it failed. */
  readonly probability: number | null;
  /** Whether the model clears what the rules found. */
  readonly cleared: boolean;
  /** Score that `hybrid` compares with the model's threshold; null if the model gave none. */
  readonly combined: number | null;
  /** The model's threshold for the text's channel; absent: the one for any text. */
  readonly modelThreshold?: number | undefined;
  /** Milliseconds of a call with the model; null without one. */
  readonly modelMillis: number | null;
}

/** Packs, model and thresholds to screen by. */
export interface ScoringSetup {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  /** A model folder, `undefined` for the package's own, false for none. */
  readonly model: string | undefined | false;
  readonly rulesThreshold?: number | undefined;
  readonly modelThreshold?: ModelThresholds | undefined;
}

/** Scored texts with the versions and thresholds behind them. */
export interface Scored {
  readonly texts: readonly ScoredText[];
  readonly rulesVersion: string;
  readonly rulesThreshold: number;
  /** `off` without a model. */
  readonly modelVersion: string;
  /** For a text whose channel is unknown. */
  readonly modelThreshold: number | null;
  /** By channel; null without a model. */
  readonly channelThresholds: Readonly<Record<Channel, number>> | null;
}

export interface ScoringOptions {
  /** The setup's pack, where it is open already. */
  readonly pack?: CompiledPack | undefined;
  readonly withHits?: boolean | undefined;
  readonly onProgress?: ((what: 'rules' | 'model', done: number) => void) | undefined;
}

const NO_MODEL = { probability: null, cleared: false, combined: null, modelThreshold: undefined, modelMillis: null };

/** Screens every text by the rules and, where there is one, by the model: each alone. */
export async function scoreTexts(
  rows: readonly LabelledText[],
  by: ScoringSetup,
  options: ScoringOptions = {},
): Promise<Scored> {
  const pack = options.pack ?? openPack({ packs: by.packs, overlays: by.overlays });
  const rules = await scoreRules(rows, {
    pack,
    packs: by.packs,
    overlays: by.overlays,
    withHits: options.withHits ?? false,
    onProgress: (done) => options.onProgress?.('rules', done),
  });
  const model = by.model === false ? undefined : await scoreModel(rows, by, pack, options.onProgress);
  return {
    texts: rows.map((row, i) => {
      const { score: rulesScore, ...reading } = rules[i] as (typeof rules)[number];
      return { ...row, rulesScore, ...reading, ...(model?.readings[i] ?? NO_MODEL) };
    }),
    rulesVersion: pack.rulesVersion,
    rulesThreshold: by.rulesThreshold ?? pack.threshold,
    modelVersion: model?.version ?? 'off',
    modelThreshold: model?.channelThresholds.unknown ?? null,
    channelThresholds: model?.channelThresholds ?? null,
  };
}

interface ModelReadings {
  readonly version: string;
  readonly channelThresholds: Readonly<Record<Channel, number>>;
  readonly readings: readonly Pick<
    ScoredText,
    'probability' | 'cleared' | 'combined' | 'modelThreshold' | 'modelMillis'
  >[];
}

/** Asks the model about every text, on all cores. @throws TuningError without a model; ModelError; ConfigError */
async function scoreModel(
  rows: readonly LabelledText[],
  by: ScoringSetup,
  pack: CompiledPack,
  onProgress: ScoringOptions['onProgress'],
): Promise<ModelReadings> {
  const folder = findModel(by.model || undefined);
  if (folder === undefined) throw new TuningError('No model is installed. Give one with --model NAME.');
  const processes = availableParallelism();
  const model = await loadModel(folder, { processes });
  const engine = createEngine({
    model,
    pack,
    mode: 'shadow',
    thresholds: { rules: by.rulesThreshold, model: by.modelThreshold ?? pack.modelThreshold },
    timeoutMs: 120_000,
  });
  const limit = createLimit(Array.from({ length: processes }));
  let done = 0;
  const ask = async ({ text, channel, task }: LabelledText) => {
    const start = performance.now();
    const { explanation, ml_threshold: modelThreshold } = await engine.analyze(text, { explain: true, channel, task });
    const { score: probability, cleared = false, combined = null } = explanation.model;
    const modelMillis = performance.now() - start;
    onProgress?.('model', ++done);
    return { probability, cleared, combined, modelThreshold, modelMillis };
  };
  try {
    await engine.warmUp({ patterns: 'common' });
    const readings = await Promise.all(rows.map((row) => limit(() => ask(row))));
    const { ml_version: version, channels } = engine.info;
    return { version, channelThresholds: byChannel((channel) => channels[channel].ml_threshold), readings };
  } finally {
    await engine.close();
  }
}
