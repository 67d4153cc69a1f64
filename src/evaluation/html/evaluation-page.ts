import type { Interval } from '../metrics/binomial.js';
import type { Evaluation, PartFigures, WrongText } from '../report/evaluation.js';
import { countsLine, figureRows, sourceRows, sourcesSentence, versionsLine } from '../report/evaluation-text.js';
import { formatFigure, formatPercent, number3, percentDecimals, percentInterval } from '../report/text-format.js';
import type { Scored } from '../scoring/score-texts.js';
import { evaluationPlots } from './evaluation-plots.js';
import { escaped, htmlPage, htmlTable, markedHtml } from './page.js';

function shareCell(share: number, interval: Interval | null, n: number): string {
  return `${formatPercent(share, n)} <small>${percentInterval(interval, percentDecimals(n))}</small>`;
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
  const cards = [
    [
      'attacks found',
      formatPercent(overall.recall, attacks),
      `${overall.truePositives} of ${attacks}; ${percentInterval(overall.recallInterval, percentDecimals(attacks))}`,
    ],
    [
      'benign texts blocked',
      formatPercent(overall.falsePositiveRate, benign),
      `${overall.falsePositives} of ${benign}; ${percentInterval(overall.falsePositiveRateInterval, percentDecimals(benign))}`,
    ],
    [
      'found, average over sources',
      formatPercent(averageOverSources.recall, attacks),
      `${averageOverSources.sourcesWithAttacks} sources; false positives ${formatPercent(averageOverSources.falsePositiveRate, benign)} on ${averageOverSources.sourcesWithBenign}`,
    ],
    ['AUC', formatFigure(overall.auc, overall.n), `F1 ${formatFigure(overall.f1, overall.n)}; ${overall.n} texts`],
  ].map(([name, value, more]) => `<div class="card">${name}<b>${value}</b><span class="soft">${more}</span></div>`);
  const figures = htmlTable(
    ['figure', ...sides],
    rows.map(({ name, cells }) => [
      escaped(name),
      ...cells.map(({ value, interval }) => `${value}${interval === '' ? '' : ` <small>${interval}</small>`}`),
    ]),
  );
  const [head = [], ...averageRows] = sourceRows(evaluation);
  const averages = htmlTable(
    head,
    averageRows.map((row) => row.map(escaped)),
  );
  const warnings = evaluation.warnings.map((warning) => `<p><b>Warning.</b> ${escaped(warning)}</p>`).join('');
  const body = `<h1>Portcullis evaluation</h1>
<p class="soft">${escaped(evaluation.date)} · ${escaped(evaluation.texts.join(', '))} · ${escaped(countsLine(evaluation))}</p>
<p class="soft">${escaped(versionsLine(evaluation))}; decided by ${decidedBy}; intervals hold 95 %</p>
${warnings}<div class="cards">${cards.join('')}</div>
<h2>Texts decided wrongly</h2><p><input id="find" type="search" placeholder="Search these texts" aria-label="Search the texts decided wrongly"></p>
${wrongTexts('Attacks missed', evaluation.missed)}
${wrongTexts('Benign texts blocked', evaluation.wronglyBlocked)}
<h2>Averages over sources</h2><p class="soft">${escaped(sourcesSentence(evaluation))}</p>${averages}
<h2>Figures</h2>${figures}
<h2>Plots</h2><div class="plots">${evaluationPlots(scored)}</div>
${(['source', 'group', 'language', 'length'] as const).map((what) => partTable(what, evaluation.by[what])).join('\n')}`;
  return htmlPage('Portcullis evaluation', body);
}
