import { ModelError } from '../../engine/errors.js';
import type { TransformersTensor } from './transformers-runtime.js';

/** What a label of a foreign classifier means to us. */
export type LabelMeaning = 'injection' | 'benign';

/**
 * The meaning of each output of the network, in order; empty for a network with a single output.
 *
 * @throws ModelError `MODEL_MANIFEST` that names the labels without a meaning
 */
export function readLabels(
  idToLabel: Readonly<Record<string, string>>,
  meanings: Readonly<Record<string, LabelMeaning>> | undefined,
): readonly LabelMeaning[] {
  if (meanings === undefined) return [];
  const labels = Object.keys(idToLabel)
    .sort((a, b) => Number(a) - Number(b))
    .map((id) => idToLabel[id] as string);
  const known = labels.map((label) => (Object.hasOwn(meanings, label) ? meanings[label] : undefined));
  if (known.includes(undefined) || !known.includes('injection') || !known.includes('benign')) {
    const message = `each label of the model needs a meaning, and both meanings a label: ${labels.join(', ')}`;
    throw new ModelError('MODEL_MANIFEST', message);
  }
  return known as readonly LabelMeaning[];
}

/**
 * The probability, 0..1, that a network's output speaks of an injection: from its one logit, or from the
 * odds of all labels that mean one against all that don't.
 *
 * @throws ModelError `MODEL_OUTPUT` where the output isn't one row of finite numbers, one a label
 */
export function injectionProbability(
  output: TransformersTensor | undefined,
  meanings: readonly LabelMeaning[],
  { scale, bias }: { readonly scale: number; readonly bias: number } = { scale: 1, bias: 0 },
): number {
  const logits = Array.from(output?.data ?? []);
  if (logits.length !== Math.max(1, meanings.length) || !logits.every(Number.isFinite)) {
    throw new ModelError('MODEL_OUTPUT', 'the network gave no finite value for each label');
  }
  const logOdds =
    meanings.length === 0
      ? (logits[0] as number)
      : logSumExp(logits.filter((_, index) => meanings[index] === 'injection')) -
        logSumExp(logits.filter((_, index) => meanings[index] === 'benign'));
  return 1 / (1 + Math.exp(-(scale * logOdds + bias)));
}

function logSumExp(values: readonly number[]): number {
  const greatest = Math.max(...values);
  return greatest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - greatest), 0));
}
