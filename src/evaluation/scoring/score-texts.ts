import { openPack } from '../../adapters/packs/open-pack.js';
import type { Channel, CompiledPack } from '../../engine/rules/types.js';
import type { LabelledText } from '../rows/labelled-text.js';
import type { RuleHit } from './scan-text.js';
import { type ModelReadings, scoreModel } from './score-model.js';
import { scoreRules } from './score-rules.js';

/** A text with what each side says of it. */
export interface ScoredText extends LabelledText {
  readonly rulesScore: number;
  readonly rule: string | null;
  readonly hits: readonly RuleHit[];
  readonly micros: number;
  /** Null where no model was asked, or it failed. */
  readonly probability: number | null;
  /** Milliseconds of a call with the model; null without one. */
  readonly modelMillis: number | null;
}

/** Who screens. */
export interface Screener {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  /** A model folder, `undefined` for the package's own, false for none. */
  readonly model: string | undefined | false;
  readonly rulesThreshold?: number | undefined;
  readonly modelThreshold?: number | string | undefined;
  readonly channel?: Channel | undefined;
}

/** Scored texts with the versions and thresholds behind them. */
export interface Scored {
  readonly texts: readonly ScoredText[];
  readonly rulesVersion: string;
  readonly rulesThreshold: number;
  /** `off` without a model. */
  readonly modelVersion: string;
  readonly modelThreshold: number | null;
}

export interface ScoreOptions {
  /** The screener's pack, where it is open already. */
  readonly pack?: CompiledPack | undefined;
  readonly withHits?: boolean | undefined;
  readonly onProgress?: ((what: 'rules' | 'model', done: number) => void) | undefined;
}

const fromModel = async (
  texts: readonly string[],
  by: Screener,
  options: ScoreOptions,
): Promise<ModelReadings | undefined> =>
  by.model === false
    ? undefined
    : scoreModel(texts, {
        folder: by.model,
        threshold: by.modelThreshold,
        onProgress: (done) => options.onProgress?.('model', done),
      });

/** Screens every text by the rules and, where there is one, by the model: each alone. */
export const scoreTexts = async (
  rows: readonly LabelledText[],
  by: Screener,
  options: ScoreOptions = {},
): Promise<Scored> => {
  const texts = rows.map(({ text }) => text);
  const pack = options.pack ?? openPack({ packs: by.packs, overlays: by.overlays });
  const rules = await scoreRules(texts, {
    pack,
    packs: by.packs,
    overlays: by.overlays,
    channel: by.channel ?? 'user',
    withHits: options.withHits ?? false,
    onProgress: (done) => options.onProgress?.('rules', done),
  });
  const model = await fromModel(texts, by, options);
  return {
    texts: rows.map((row, i) => {
      const reading = rules[i] as (typeof rules)[number];
      const said = model?.readings[i];
      return {
        ...row,
        rulesScore: reading.score,
        rule: reading.rule,
        hits: reading.hits,
        micros: reading.micros,
        probability: said?.probability ?? null,
        modelMillis: said?.millis ?? null,
      };
    }),
    rulesVersion: pack.rulesVersion,
    rulesThreshold: by.rulesThreshold ?? pack.threshold,
    modelVersion: model?.version ?? 'off',
    modelThreshold: model?.threshold ?? null,
  };
};
