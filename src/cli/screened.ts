import type { ExplainedVerdict } from '../index.js';
import { markedText } from './marked-text.js';
import type { Paint } from './paint.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const modelLine = ({ ml_version, explanation: { model } }: ExplainedVerdict): string => {
  if (model.verdict === 'off') return ml_version === 'off' ? 'off' : 'not asked, the rules had decided';
  if (model.verdict === 'error') return `failed (${model.error ?? 'unknown reason'}); the rules decided`;
  return `${model.verdict}, probability ${model.score === null ? 'unknown' : percent(model.score)}`;
};

/** A verdict for a person: what was decided and why, every finding, and the text with the places marked. */
export const screened = (text: string, verdict: ExplainedVerdict, paint: Paint): string => {
  const { explanation } = verdict;
  const blocked = verdict.verdict === 'block';
  const headline = blocked ? paint.red('BLOCK') : paint.green('ALLOW');
  const lines = [
    `${paint.bold(headline)}  score ${verdict.score.toFixed(3)}, blocks at ${verdict.threshold.toFixed(3)}, decided by ${verdict.decided_by}`,
    ...(verdict.reason === null ? [] : [verdict.reason]),
    `model: ${modelLine(verdict)}`,
  ];
  for (const { rule, span, view, chain, score } of explanation.findings) {
    const how = view === 'raw' || view === 'folded' ? '' : `, in ${view} text (${chain.join(' > ')})`;
    lines.push(`  ${paint.bold(rule)}  score ${score.toFixed(2)}, characters ${span.start}-${span.end}${how}`);
  }
  for (const { span, by, limit } of explanation.unseen) {
    lines.push(paint.dim(`  not read by ${by}: characters ${span.start}-${span.end} (limit ${limit})`));
  }
  const spans = [...explanation.findings.map(({ span }) => span), ...(blocked ? explanation.model.hotspots : [])];
  return `${lines.join('\n')}\n\n${markedText(text, spans, { paint, around: 200 })}\n`;
};
