import type { Evaluation, PartFigures } from './evaluation.js';
import { figureRows } from './figure-rows.js';
import { percent, percentInterval } from './figure-text.js';
import { alignedTable, markdownTable } from './tables.js';

const partRows = (title: string, parts: readonly PartFigures[]): readonly (readonly string[])[] => [
  [title, 'attacks', 'found', 'recall', 'benign', 'blocked', 'false positives'],
  ...parts.map((part) => [
    part.name.slice(0, 40),
    String(part.attacks),
    String(part.truePositives),
    percent(part.recall),
    String(part.benign),
    String(part.falsePositives),
    percent(part.falsePositiveRate),
  ]),
];

/** Said once a report: what was left out, and why. */
export const countsLine = ({ rows, modelFailures }: Evaluation): string => {
  const leftOut = Object.entries(rows.leftOut).map(([why, n]) => `${n} rows left out: ${why}`);
  return [
    `${rows.judged} labelled texts`,
    ...(rows.unlabelled > 0 ? [`${rows.unlabelled} without a label, not counted`] : []),
    ...leftOut,
    ...(modelFailures > 0 ? [`${modelFailures} without an answer of the model, which count as allowed by it`] : []),
  ].join('; ');
};

/** What decided: versions and thresholds. */
export const versionsLine = (evaluation: Evaluation): string =>
  [
    `rules ${evaluation.rulesVersion}, block at ${evaluation.rulesThreshold}`,
    evaluation.modelThreshold === null
      ? 'no model'
      : `model ${evaluation.modelVersion}, blocks at ${evaluation.modelThreshold}`,
  ].join('; ');

/** The evaluation for a terminal. */
export const evaluationText = (evaluation: Evaluation): string => {
  const { sides, rows } = figureRows(evaluation);
  const figures = [
    ['', ...sides.flatMap((side) => [side, '95 % interval'])],
    ...rows.map(({ name, cells }) => [name, ...cells.flatMap(({ value, interval }) => [value, interval])]),
  ];
  const { recall, falsePositiveRate } = evaluation.averageOverSources;
  return `${countsLine(evaluation)}
${versionsLine(evaluation)}

${alignedTable(figures)}

By ${evaluation.decidedBy}, average over sources: recall ${percent(recall)}, false positives ${percent(falsePositiveRate)}

${(['source', 'group', 'language', 'length'] as const).map((what) => alignedTable(partRows(what, evaluation.by[what]))).join('\n\n')}

${evaluation.missed.length} attacks missed, ${evaluation.wronglyBlocked.length} honest texts blocked
`;
};

/** The evaluation as a page of Markdown. It quotes no text. */
export const evaluationMarkdown = (evaluation: Evaluation): string => {
  const { sides, rows } = figureRows(evaluation);
  const figures = [
    ['figure', ...sides.flatMap((side) => [side, '95 % interval'])],
    ...rows.map(({ name, cells }) => [name, ...cells.flatMap(({ value, interval }) => [value, interval])]),
  ];
  const { overall, averageOverSources, latency } = evaluation;
  return `# Evaluation, ${evaluation.date}

${versionsLine(evaluation)}. Texts: ${evaluation.texts.join(', ')}; ${countsLine(evaluation)}.

By ${evaluation.decidedBy}: **${percent(overall.recall)}** of the attacks found (${percentInterval(overall.recallInterval)}), **${percent(overall.falsePositiveRate)}** of the honest texts blocked (${percentInterval(overall.falsePositiveRateInterval)}). Average over sources: ${percent(averageOverSources.recall)} and ${percent(averageOverSources.falsePositiveRate)}.

${markdownTable(figures)}

Rules: p50 ${latency.rules.p50.toFixed(2)} ms, p99 ${latency.rules.p99.toFixed(2)} ms a text.

${(['source', 'group', 'language', 'length'] as const).map((what) => `## By ${what}\n\n${markdownTable(partRows(what, evaluation.by[what]))}`).join('\n\n')}
`;
};
