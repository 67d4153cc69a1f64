import type { Evaluation, PartFigures, WrongText } from '../report/evaluation.js';
import { countsLine, figureRows, sourceRows, sourcesSentence, versionsLine } from '../report/evaluation-text.js';
import { number3, percent, percentInterval } from '../report/text-format.js';
import type { Scored } from '../scoring/score-texts.js';
import { evaluationPlots } from './evaluation-plots.js';
import { escaped, htmlPage, htmlTable, markedHtml } from './page.js';

/** Wrong texts of a kind that the page shows; the JSON report has all. */
const MOST_TEXTS = 500;

function partTable(what: string, parts: readonly PartFigures[]): string {
  return `<h2>By ${what}</h2>${htmlTable(
    [what, 'attacks', 'recall', 'benign', 'false positives'],
    parts.map((part) => [
      escaped(part.name),
      String(part.attacks),
      part.recall === null ? '-' : `${percent(part.recall)} <small>${percentInterval(part.recallInterval)}</small>`,
      String(part.benign),
      part.falsePositiveRate === null
        ? '-'
        : `${percent(part.falsePositiveRate)} <small>${percentInterval(part.falsePositiveRateInterval)}</small>`,
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
  return `<h2>${title}: ${texts.length}</h2>${more}${texts.slice(0, MOST_TEXTS).map(wrongText).join('\n')}`;
}

/** The evaluation as one HTML file that needs no network. Every text in it is escaped. */
export function evaluationPage(evaluation: Evaluation, scored: Scored): string {
  const { overall, averageOverSources, decidedBy } = evaluation;
  const { sides, rows } = figureRows(evaluation);
  const cards = [
    ['attacks found', percent(overall.recall), percentInterval(overall.recallInterval)],
    ['benign texts blocked', percent(overall.falsePositiveRate), percentInterval(overall.falsePositiveRateInterval)],
    [
      'found, average over sources',
      percent(averageOverSources.recall),
      `false positives ${percent(averageOverSources.falsePositiveRate)}`,
    ],
    ['AUC', number3(overall.auc), `F1 ${number3(overall.f1)}`],
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
  const body = `<h1>Portcullis evaluation</h1>
<p class="soft">${escaped(evaluation.date)} · ${escaped(evaluation.texts.join(', '))} · ${escaped(countsLine(evaluation))}</p>
<p class="soft">${escaped(versionsLine(evaluation))}; decided by ${decidedBy}; intervals hold 95 %</p>
<div class="cards">${cards.join('')}</div>
<h2>Averages over sources</h2><p class="soft">${escaped(sourcesSentence(evaluation))}</p>${averages}
<h2>Figures</h2>${figures}
<h2>Plots</h2><div class="plots">${evaluationPlots(scored)}</div>
${(['source', 'group', 'language', 'length'] as const).map((what) => partTable(what, evaluation.by[what])).join('\n')}
<h2>Texts decided wrongly</h2><p><input id="find" type="search" placeholder="Show texts that hold …" aria-label="Show texts that hold"></p>
${wrongTexts('Attacks missed', evaluation.missed)}
${wrongTexts('Benign texts blocked', evaluation.wronglyBlocked)}`;
  return htmlPage('Portcullis evaluation', body);
}
