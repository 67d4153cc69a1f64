import type { Interval } from '../metrics/binomial.js';
import { calibrationError } from '../metrics/calibration.js';
import { scoreSteps, traceCurve } from '../metrics/ranking.js';
import { type Evaluation, listParts, type PartFigures, type WrongText } from '../report/evaluation.js';
import {
  countsLine,
  figureRows,
  hasSourceAverages,
  sourceRows,
  sourcesSentence,
  versionsLine,
} from '../report/evaluation-text.js';
import { listOutcomes, listSides, type Side } from '../report/sides.js';
import { formatFigure, formatPercent, number3, percentInterval } from '../report/text-format.js';
import type { Scored } from '../scoring/score-texts.js';
import { escaped, htmlCards, htmlPage, htmlTable, markedHtml, textTable } from './page.js';
import { type Plot, type Point, plotSvg, type Series } from './plot.js';

function shareCell(share: number, interval: Interval | null, n: number): string {
  return `${formatPercent(share, n)} <small>${percentInterval(interval, n)}</small>`;
}

/** Wrong texts of a kind that the page shows; the JSON report has all. */
const MOST_TEXTS = 500;
/** A longer list is folded up at first. */
const MOST_OPEN = 20;

function partTable(what: string, parts: readonly PartFigures[]): string {
  return `<h2>By ${what}</h2>${htmlTable(
    [what, 'attacks', 'recall', 'benign', 'false positives'],
    parts.map((part) => [
      escaped(part.name),
      String(part.attacks),
      part.recall === null ? '-' : shareCell(part.recall, part.recallInterval, part.attacks),
      String(part.benign),
      part.falsePositiveRate === null
        ? '-'
        : shareCell(part.falsePositiveRate, part.falsePositiveRateInterval, part.benign),
    ]),
  )}`;
}

function wrongText({ id, source, language, text, rule, rulesScore, probability, spans }: WrongText): string {
  const said = [
    `rules ${number3(rulesScore)}${rule === null ? '' : ` ${rule}`}`,
    ...(probability === null ? [] : [`model ${number3(probability)}`]),
  ];
  return `<details class="text"><summary>${escaped(id)} <span class="soft">${escaped([source, language, ...said].join(' · '))}</span></summary><pre>${markedHtml(text, spans)}</pre></details>`;
}

function wrongTexts(title: string, texts: readonly WrongText[]): string {
  const more =
    texts.length > MOST_TEXTS ? `<p class="soft">The first ${MOST_TEXTS} of ${texts.length}; --json has all.</p>` : '';
  const isOpen = texts.length > 0 && texts.length <= MOST_OPEN;
  return `<details${isOpen ? ' open' : ''}><summary><b>${title}: ${texts.length}</b></summary>${more}${texts.slice(0, MOST_TEXTS).map(wrongText).join('\n')}</details>`;
}

/** The evaluation as one HTML file that needs no network. Every text in it is escaped. */
export function evaluationPage(evaluation: Evaluation, scored: Scored): string {
  const { overall, averageOverSources, decidedBy } = evaluation;
  const { sides, rows } = figureRows(evaluation);
  const { attacks, benign } = overall;
  const cards = htmlCards([
    [
      'attacks found',
      formatPercent(overall.recall, attacks),
      `${overall.truePositives} of ${attacks}; ${percentInterval(overall.recallInterval, attacks)}`,
    ],
    [
      'benign texts blocked',
      formatPercent(overall.falsePositiveRate, benign),
      `${overall.falsePositives} of ${benign}; ${percentInterval(overall.falsePositiveRateInterval, benign)}`,
    ],
    [
      'found, average over sources',
      formatPercent(averageOverSources.recall, attacks),
      `${averageOverSources.sourcesWithAttacks} sources; false positives ${formatPercent(averageOverSources.falsePositiveRate, benign)} on ${averageOverSources.sourcesWithBenign}`,
    ],
    ['AUC', formatFigure(overall.auc, overall.n), `F1 ${formatFigure(overall.f1, overall.n)}; ${overall.n} texts`],
  ]);
  const figures = htmlTable(
    ['figure', ...sides],
    rows.map(({ name, cells }) => [
      escaped(name),
      ...cells.map(({ value, interval }) => `${value}${interval === '' ? '' : ` <small>${interval}</small>`}`),
    ]),
  );
  const averages = hasSourceAverages(evaluation)
    ? `<h2>Averages over sources</h2><p class="soft">${escaped(sourcesSentence(evaluation))}</p>${textTable(sourceRows(evaluation))}`
    : '';
  const warnings = evaluation.warnings.map((warning) => `<p><b>Warning.</b> ${escaped(warning)}</p>`).join('');
  const body = `<h1>Portcullis evaluation</h1>
<p class="soft">${escaped(evaluation.date)} · ${escaped(evaluation.texts.join(', '))} · ${escaped(countsLine(evaluation))}</p>
<p class="soft">${escaped(versionsLine(evaluation))}; decided by ${decidedBy}; intervals hold 95 %</p>
${warnings}${cards}
<h2>Texts decided wrongly</h2><p><input id="find" type="search" placeholder="Search these texts" aria-label="Search the texts decided wrongly"></p>
${wrongTexts('Attacks missed', evaluation.missed)}
${wrongTexts('Benign texts blocked', evaluation.wronglyBlocked)}
${averages}
<h2>Figures</h2>${figures}
<h2>Plots</h2><div class="plots">${evaluationPlots(scored)}</div>
${listParts(evaluation)
  .map(([kind, parts]) => partTable(kind, parts))
  .join('\n')}`;
  return htmlPage('Portcullis evaluation', body);
}

const TONE_OF = { rules: 'a', model: 'b', both: 'c' } as const;

/** At most this many points a line: more can't be seen, and swell the page. */
const MOST_POINTS = 400;
function thinned(points: readonly Point[]): readonly Point[] {
  const step = Math.ceil(points.length / MOST_POINTS);
  return points.filter((_, i) => i % step === 0 || i === points.length - 1);
}

const BINS = 20;
function histogram(scores: readonly number[]): readonly Point[] {
  const counts: number[] = new Array(BINS).fill(0);
  for (const score of scores) {
    const bin = Math.min(BINS - 1, Math.floor(score * BINS));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts.map((n, i) => [i / BINS, n]);
}

function lines(scored: Scored, of: (side: Side) => readonly Point[]): readonly Series[] {
  return listSides(scored).map((side) => ({ name: side, tone: TONE_OF[side], kind: 'line', points: of(side) }));
}

function unit(name: string): Plot['x'] {
  return { name, from: 0, to: 1 };
}

function rocPoints(scored: Scored, side: Side): readonly Point[] {
  const { attacks, benign, points } = traceCurve(scoreSteps(listOutcomes(scored.texts, side, scored)));
  // Of both sides the rules' own point is the first that any threshold of the model reaches: no line leads up to it.
  return points
    .slice(side === 'both' ? 1 : 0)
    .map((point): Point => [point.falsePositives / (benign || 1), point.truePositives / (attacks || 1)]);
}

function precisionPoints(scored: Scored, side: Side): readonly Point[] {
  const { attacks, points } = traceCurve(scoreSteps(listOutcomes(scored.texts, side, scored)));
  return points
    .slice(1)
    .map(
      ({ truePositives, falsePositives }): Point => [
        truePositives / (attacks || 1),
        truePositives / (truePositives + falsePositives),
      ],
    );
}

function histogramPlot(scored: Scored, side: 'rules' | 'model'): Plot {
  const outcomes = listOutcomes(scored.texts, side, scored);
  const scores = (isAttack: boolean): readonly number[] =>
    outcomes.filter((outcome) => outcome.isAttack === isAttack).map(({ score }) => score);
  const benign = histogram(scores(false));
  const attacks = histogram(scores(true));
  const threshold = side === 'rules' ? scored.rulesThreshold : scored.modelThreshold;
  const most = Math.max(1, ...[...benign, ...attacks].map(([, n]) => n));
  return {
    title: `Scores of the ${side}`,
    x: unit('score'),
    // Most scores lie at the ends: bins with few texts must be visible next to bins with very many.
    y: { name: 'texts, log scale', from: 0, to: most, scale: 'counts' },
    series: [
      { name: 'benign', tone: 'a', kind: 'bars', points: benign },
      { name: 'attacks', tone: 'b', kind: 'bars', points: attacks },
    ],
    verticals: threshold === null ? [] : [{ x: threshold, name: `blocks at ${Number(threshold.toFixed(3))}` }],
  };
}

function reliabilityPlot(scored: Scored, side: Side): Plot {
  const found = calibrationError(listOutcomes(scored.texts, side, scored))?.bins.filter(({ n }) => n > 0) ?? [];
  const points = found.map(({ meanScore, attackShare }): Point => [meanScore, attackShare]);
  return {
    title: `Reliability of the ${side}'${side === 'rules' ? '' : 's'} score`,
    x: unit('mean score in the bin'),
    y: unit('share of attacks'),
    hasDiagonal: true,
    series: [
      { name: 'texts', tone: TONE_OF[side], kind: 'line', points },
      { name: 'bins', tone: TONE_OF[side], kind: 'dots', points },
    ],
  };
}

function latencyPlot(scored: Scored): Plot {
  const cumulative = (values: readonly number[]): readonly Point[] => {
    const sorted = [...values].sort((a, b) => a - b);
    return thinned(sorted.map((value, i): Point => [value, (i + 1) / sorted.length]));
  };
  const rules = cumulative(scored.texts.map(({ micros }) => micros / 1000));
  const model = cumulative(scored.texts.flatMap(({ modelMillis }) => (modelMillis === null ? [] : [modelMillis])));
  const longest = model.length > 0 ? model : rules;
  const p99 = longest.findLast(([, share]) => share <= 0.995)?.[0] ?? 1;
  return {
    title: 'Latency of one text',
    x: { name: 'milliseconds', from: 0, to: Math.max(p99, 0.01) },
    y: unit('share of texts done'),
    series: [
      { name: 'rules', tone: 'a', kind: 'line', points: rules },
      ...(model.length > 0 ? [{ name: 'with model', tone: 'b', kind: 'line', points: model } as const] : []),
    ],
  };
}

function evaluationPlots(scored: Scored): string {
  const close: Plot = {
    title: 'ROC, the first 5 % of false positives',
    x: { name: 'false-positive rate', from: 0, to: 0.05 },
    y: unit('recall'),
    series: lines(scored, (side) => rocPoints(scored, side)),
  };
  const whole: Plot = {
    ...close,
    title: 'ROC',
    x: unit('false-positive rate'),
    hasDiagonal: true,
    series: lines(scored, (side) => thinned(rocPoints(scored, side))),
  };
  const precision: Plot = {
    title: 'Precision and recall',
    x: unit('recall'),
    y: unit('precision'),
    series: lines(scored, (side) => thinned(precisionPoints(scored, side))),
  };
  const alone = listSides(scored).filter((side) => side !== 'both');
  return [
    whole,
    close,
    precision,
    ...alone.map((side) => histogramPlot(scored, side)),
    ...alone.map((side) => reliabilityPlot(scored, side)),
    latencyPlot(scored),
  ]
    .map((plot) => `<figure>${plotSvg(plot)}</figure>`)
    .join('\n');
}
