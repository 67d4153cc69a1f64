import type { Interval } from '../metrics/binomial.js';
import type { RankingFigures } from '../metrics/figures.js';
import { MIN_SOURCE_TEXTS, SOURCE_BUDGETS, type SourceMeans } from '../metrics/source-averages.js';
import { type Evaluation, listParts, type PartFigures } from './evaluation.js';
import type { Side } from './sides.js';
import { alignedTable, formatFigure, formatPercent, markdownTable, percentInterval } from './text-format.js';

function partRows(title: string, parts: readonly PartFigures[]): readonly (readonly string[])[] {
  return [
    [title, 'attacks', 'found', 'recall', 'benign', 'blocked', 'false positives'],
    ...parts.map((part) => [
      part.name.slice(0, 40),
      String(part.attacks),
      String(part.truePositives),
      formatPercent(part.recall, part.attacks),
      String(part.benign),
      String(part.falsePositives),
      formatPercent(part.falsePositiveRate, part.benign),
    ]),
  ];
}

export function countsLine({ rows, modelFailures }: Evaluation): string {
  const leftOut = Object.entries(rows.leftOut).map(([why, n]) => `${n} rows left out: ${why}`);
  return [
    `${rows.judged} labelled texts`,
    ...(rows.unlabelled > 0 ? [`${rows.unlabelled} without a label, not counted`] : []),
    ...leftOut,
    ...(modelFailures > 0 ? [`${modelFailures} on which the model failed, counted as allowed by it`] : []),
  ].join('; ');
}

function channelThresholds({ modelThreshold, modelThresholds }: Evaluation): string {
  const own = Object.entries(modelThresholds).filter(([, threshold]) => threshold !== modelThreshold);
  return own.length === 0 ? '' : ` (${own.map(([channel, threshold]) => `${channel} ${threshold}`).join(', ')})`;
}

export function versionsLine(evaluation: Evaluation): string {
  return [
    `rules ${evaluation.rulesVersion}, block at ${evaluation.rulesThreshold}`,
    evaluation.modelThreshold === null
      ? 'no model'
      : `model ${evaluation.modelVersion}, blocks at ${evaluation.modelThreshold}${channelThresholds(evaluation)}`,
  ].join('; ');
}

export function sourcesSentence({ averageOverSources, decidedBy }: Evaluation): string {
  const { sourcesWithAttacks, sourcesWithBenign } = averageOverSources;
  const who = decidedBy === 'both' ? 'Rules and model together' : `The ${decidedBy} alone`;
  return `${who}, averaged over sources (${sourcesWithAttacks} with attacks, ${sourcesWithBenign} with benign texts; at least ${MIN_SOURCE_TEXTS} of them), each source counting once:`;
}

/** The averages over sources, at the thresholds in force and at thresholds chosen for a budget; the head first. */
export function sourceRows(evaluation: Evaluation): readonly (readonly string[])[] {
  const { averageOverSources, modelThreshold, rulesThreshold, overall } = evaluation;
  const number = (threshold: number): string => String(Number(threshold.toFixed(4)));
  const means = ({ recall, falsePositiveRate }: SourceMeans): readonly string[] => [
    formatPercent(recall, overall.attacks),
    formatPercent(falsePositiveRate, overall.benign),
  ];
  return [
    ['threshold', 'recall', 'false positives', 'value'],
    ['in force', ...means(averageOverSources), number(modelThreshold ?? rulesThreshold)],
    ...SOURCE_BUDGETS.flatMap((budget) => {
      const { threshold, onAllSources, leftOut, leftOutThresholds } = averageOverSources.chosen[budget];
      const name = `for ${Number((100 * Number(budget)).toPrecision(3))} %`;
      return [
        [`${name}, chosen on all sources`, ...means(onAllSources), threshold === null ? '-' : number(threshold)],
        [
          `${name}, chosen on the other sources`,
          ...means(leftOut),
          leftOutThresholds === null ? '-' : leftOutThresholds.map(number).join(' to '),
        ],
      ];
    }),
  ];
}

/** Whether any source has enough texts for an average over sources. */
export function hasSourceAverages({ averageOverSources }: Evaluation): boolean {
  return averageOverSources.sourcesWithAttacks + averageOverSources.sourcesWithBenign > 0;
}

/** The evaluation for a terminal. */
export function evaluationText(evaluation: Evaluation): string {
  const warnings = evaluation.warnings.map((warning) => `warning: ${warning}\n`).join('');
  const averages = hasSourceAverages(evaluation)
    ? `${sourcesSentence(evaluation)}\n\n${alignedTable(sourceRows(evaluation))}\n\n`
    : '';
  return `${countsLine(evaluation)}
${versionsLine(evaluation)}
${warnings}
${alignedTable(figureTable(evaluation, ''))}

${averages}${listParts(evaluation)
  .map(([kind, parts]) => alignedTable(partRows(kind, parts)))
  .join('\n\n')}

${evaluation.missed.length} attacks missed, ${evaluation.wronglyBlocked.length} benign texts blocked
`;
}

/** Recall and false-positive rate of the deciding side, with n and intervals, as a sentence of Markdown. */
function headline({ overall, decidedBy }: Evaluation): string {
  const { attacks, benign } = overall;
  const found = `**${formatPercent(overall.recall, attacks)}** of ${attacks} attacks found (${percentInterval(overall.recallInterval, attacks)})`;
  const blocked = `**${formatPercent(overall.falsePositiveRate, benign)}** of ${benign} benign texts blocked (${percentInterval(overall.falsePositiveRateInterval, benign)})`;
  return `By ${decidedBy}: ${found}, ${blocked}.`;
}

/** The evaluation as a page of Markdown. It quotes no text. */
export function evaluationMarkdown(evaluation: Evaluation): string {
  const { latency } = evaluation;
  const warnings = evaluation.warnings.map((warning) => `> **Warning.** ${warning}\n\n`).join('');
  const averages = hasSourceAverages(evaluation)
    ? `## Averages over sources\n\n${sourcesSentence(evaluation)}\n\n${markdownTable(sourceRows(evaluation))}\n\n`
    : '';
  return `# Evaluation, ${evaluation.date}

${versionsLine(evaluation)}. Texts: ${evaluation.texts.join(', ')}; ${countsLine(evaluation)}.

${warnings}${headline(evaluation)}
${averages}## Figures

${markdownTable(figureTable(evaluation, 'figure'))}

Rules: p50 ${latency.rules.p50.toFixed(2)} ms, p99 ${latency.rules.p99.toFixed(2)} ms a text.

${listParts(evaluation)
  .map(([kind, parts]) => `## By ${kind}\n\n${markdownTable(partRows(kind, parts))}`)
  .join('\n\n')}
`;
}

/** The table of figures, its head first; `corner` is the head of the names. */
function figureTable(evaluation: Evaluation, corner: string): readonly (readonly string[])[] {
  const { sides, rows } = figureRows(evaluation);
  return [
    [corner, ...sides.flatMap((side) => [side, '95 % interval'])],
    ...rows.map(({ name, cells }) => [name, ...cells.flatMap(({ value, interval }) => [value, interval])]),
  ];
}

interface Figure {
  readonly value: string;
  readonly interval: string;
}

function shares(value: number | null, interval: Interval | null, n: number): Figure {
  return {
    value: value === null ? '-' : `${formatPercent(value, n)} of ${n}`,
    interval: interval ? percentInterval(interval, n) : '',
  };
}
function plain(value: number | null, interval: Interval | null, n: number): Figure {
  return {
    value: formatFigure(value, n),
    interval: interval ? interval.map((end) => formatFigure(end, n)).join(' to ') : '',
  };
}

// Where no threshold keeps the budget (of both sides: the rules alone have more false positives) there is no recall to state.
function recallAt({ recallAt: all, attacks }: RankingFigures, budget: keyof RankingFigures['recallAt']): Figure {
  const { value, interval, threshold } = all[budget];
  return threshold === null ? { value: '-', interval: '' } : shares(value, interval, attacks);
}

const LINES: Readonly<Record<string, (figures: RankingFigures) => Figure>> = {
  recall: (f) => shares(f.recall, f.recallInterval, f.attacks),
  'false positives': (f) => shares(f.falsePositiveRate, f.falsePositiveRateInterval, f.benign),
  precision: (f) => shares(f.precision, f.precisionInterval, f.truePositives + f.falsePositives),
  F1: (f) => plain(f.f1, f.f1Interval, f.n),
  AUC: (f) => plain(f.auc, f.aucInterval, f.n),
  'average precision': (f) => plain(f.averagePrecision, f.averagePrecisionInterval, f.n),
  'recall at 0.5 % FP': (f) => recallAt(f, '0.005'),
  'recall at 1 % FP': (f) => recallAt(f, '0.01'),
  'recall at 2 % FP': (f) => recallAt(f, '0.02'),
  'calibration error': (f) => plain(f.calibrationError, null, f.n),
};

/** The lines of the table of figures, each with a figure for each of `sides`. */
export function figureRows({ sides }: Evaluation): {
  readonly sides: readonly Side[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly Figure[] }[];
} {
  const known = (['rules', 'model', 'both'] as const).filter((side) => sides[side] !== undefined);
  const cells = (of: (figures: RankingFigures) => Figure) => known.map((side) => of(sides[side] as RankingFigures));
  return { sides: known, rows: Object.entries(LINES).map(([name, of]) => ({ name, cells: cells(of) })) };
}
