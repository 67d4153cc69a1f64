import { z } from 'zod';

/** Detectors that may block: `rules` alone, rules and model (`hybrid`), or rules alone while the model is only reported (`shadow`). */
export type Mode = 'rules' | 'hybrid' | 'shadow';

/** The side whose score and threshold the verdict reports. */
export type DecidedBy = 'rules' | 'ml' | 'ml-error-rules-fallback';

/** The seven fields of every verdict. */
export interface MinimalVerdict {
  readonly verdict: 'allow' | 'block';
  /** 0..1; always equal to `score` of the extended form. */
  readonly confidence: number;
  /** `none` for an allow; a rule's id; `ml.classifier` where the model blocks. */
  readonly rule: string;
  /** One plain sentence for a block, never quoting the input; null for an allow. */
  readonly reason: string | null;
  /** `<semver>+<first 12 hex digits of the pack's digest>`. */
  readonly rules_version: string;
  /** `ev_` and 24 lower-case hex digits. */
  readonly evidence_id: string;
  /** Whole milliseconds. */
  readonly latency_ms: number;
}

/** The complete verdict. `verdict` is `block` exactly when `score >= threshold`, in every mode. */
export interface Verdict extends MinimalVerdict {
  /** 0..1, of the deciding side: the rules' score, or the model's calibrated probability raised by weak findings. */
  readonly score: number;
  /** 0..1, of the deciding side. */
  readonly threshold: number;
  readonly decided_by: DecidedBy;
  /** `off` where no model is configured or asked for. */
  readonly ml_version: string;
  /** The configured threshold, even where the model is off. */
  readonly ml_threshold: number;
  readonly mode: Mode;
}

const unit = z.number().min(0).max(1);

const minimalShape = {
  verdict: z.enum(['allow', 'block']).describe('The decision.'),
  confidence: unit.describe('Confidence of the decision; equal to `score` of the extended form.'),
  rule: z.string().min(1).describe('What decided: a rule id, `ml.classifier`, or `none` for an allow.'),
  reason: z.string().min(1).nullable().describe('One sentence for a block, null for an allow.'),
  rules_version: z.string().min(1).describe('Version of the rule pack: semver and content digest.'),
  evidence_id: z
    .string()
    .regex(/^ev_[0-9a-f]{24}$/)
    .describe('Identifier of the evidence record.'),
  latency_ms: z.int().min(0).describe('Processing time in milliseconds.'),
};

const extendedShape = {
  ...minimalShape,
  score: unit.describe('Score of the deciding side.'),
  threshold: unit.describe('Score at or above which the deciding side blocks.'),
  decided_by: z.enum(['rules', 'ml', 'ml-error-rules-fallback']).describe('The side that decided.'),
  ml_version: z.string().min(1).describe('Version of the model, or `off`.'),
  ml_threshold: unit.describe('Blocking threshold of the model in use.'),
  mode: z.enum(['rules', 'hybrid', 'shadow']).describe('Operating mode of the decision.'),
};

/** The names of the extended form, in its order. */
export const verdictFields: readonly string[] = Object.keys(extendedShape);

function agreesOnBlock(it: MinimalVerdict): boolean {
  const block = it.verdict === 'block';
  return (it.rule !== 'none') === block && (it.reason !== null) === block;
}

function decidedByItsMode(it: Verdict): boolean {
  if (it.mode !== 'hybrid') return it.decided_by === 'rules';
  return it.decided_by === 'rules' || it.ml_version !== 'off';
}

function modelSideFits(it: Verdict): boolean {
  if (it.decided_by !== 'ml') return it.rule !== 'ml.classifier';
  return it.threshold === it.ml_threshold && (it.verdict === 'allow' || it.rule === 'ml.classifier');
}

/** The minimal form: the first seven fields and nothing else. */
export const minimalVerdictSchema: z.ZodType<MinimalVerdict> = z
  .strictObject(minimalShape)
  .refine(agreesOnBlock, { message: '`rule` is `none` and `reason` is null exactly when the verdict is `allow`' });

/** The extended form with the invariants that a caller can check. */
export const verdictSchema: z.ZodType<Verdict> = z
  .strictObject(extendedShape)
  .refine((it) => (it.verdict === 'block') === it.score >= it.threshold, {
    message: '`verdict` is `block` exactly when `score >= threshold`',
  })
  .refine((it) => it.confidence === it.score, { message: '`confidence` equals `score`' })
  .refine(agreesOnBlock, { message: '`rule` is `none` and `reason` is null exactly when the verdict is `allow`' })
  .refine(decidedByItsMode, { message: 'the model decides, or fails, in mode `hybrid` with a model only' })
  .refine(modelSideFits, { message: 'a verdict of the model has its threshold, and `ml.classifier` for a block' });

/** Returns the seven fields of the minimal form. */
export function toMinimal(verdict: Verdict): MinimalVerdict {
  return {
    verdict: verdict.verdict,
    confidence: verdict.confidence,
    rule: verdict.rule,
    reason: verdict.reason,
    rules_version: verdict.rules_version,
    evidence_id: verdict.evidence_id,
    latency_ms: verdict.latency_ms,
  };
}
