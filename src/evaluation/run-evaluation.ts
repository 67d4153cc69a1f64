import { openPack } from '../adapters/packs/open-pack.js';
import { type Evaluation, type EvaluationFacts, evaluate, type WrongText } from './report/evaluation.js';
import type { LabelledText } from './rows/labelled-text.js';
import { scoreRules } from './scoring/score-rules.js';
import { type Scored, type ScoringOptions, type ScoringSetup, scoreTexts } from './scoring/score-texts.js';

export interface RunEvaluation {
  readonly evaluation: Evaluation;
  readonly scored: Scored;
}

/** Screens and measures. The findings of texts that were decided wrongly are located in a second, small pass. */
export async function runEvaluation(
  rows: readonly LabelledText[],
  by: ScoringSetup,
  facts: EvaluationFacts,
  options: ScoringOptions = {},
): Promise<RunEvaluation> {
  const pack = options.pack ?? openPack({ packs: by.packs, overlays: by.overlays });
  const scored = await scoreTexts(rows, by, { ...options, pack });
  const evaluation = evaluate(scored, facts);
  const located = async (texts: readonly WrongText[]): Promise<readonly WrongText[]> => {
    const readings = await scoreRules(texts, { pack, packs: by.packs, overlays: by.overlays, withHits: true });
    return texts.map((text, i) => ({
      ...text,
      spans: (readings[i]?.hits ?? []).map(({ start, end }) => ({ start, end })),
    }));
  };
  return {
    scored,
    evaluation: {
      ...evaluation,
      missed: await located(evaluation.missed),
      wronglyBlocked: await located(evaluation.wronglyBlocked),
    },
  };
}
