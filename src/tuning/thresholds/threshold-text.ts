import { percent } from '../../evaluation/report/figure-text.js';
import type { TunedThreshold } from './tune-threshold.js';

const basis = ({ texts, alarms, budget, confidence, upperBound }: TunedThreshold): string =>
  `${alarms} of ${texts} benign texts blocked; on others of the same kind at most ${percent(upperBound)} (budget ${percent(budget)}), ${percent(confidence)} sure`;

/** The threshold for a terminal. */
export const thresholdText = (tuned: TunedThreshold): string => {
  const { side, threshold, before, allowedAlarms, textsForOneMore, leftOut } = tuned;
  const whose = side === 'rules' ? 'rules' : side === 'model' ? 'model alone' : 'model, beside the rules as they are';
  const left = [
    ...(leftOut.attacks > 0 ? [`${leftOut.attacks} rows labelled as attacks`] : []),
    ...(leftOut.unanswered > 0 ? [`${leftOut.unanswered} texts without an answer of the model`] : []),
  ];
  return `Threshold of the ${whose}: ${threshold}
  ${basis(tuned)}
  before: ${before.threshold}, ${before.alarms} blocked
  ${allowedAlarms} alarms were allowed; ${allowedAlarms + 1} would take ${textsForOneMore} texts
${left.length > 0 ? `  left out: ${left.join(', ')}\n` : ''}`;
};

/** An overlay file (YAML) that sets the rules' threshold. */
export const thresholdOverlay = (tuned: TunedThreshold): string =>
  `# portcullis tune --benign-only, rules ${tuned.rulesVersion}\n# ${basis(tuned)}\nthreshold: ${tuned.threshold.toFixed(6)}\n`;
