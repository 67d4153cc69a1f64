import { escaped, htmlPage, htmlTable } from '../evaluation/html/page.js';
import { type Plot, type Point, plotSvg } from '../evaluation/html/plot.js';
import { formatPercent, percent, percentDecimals, percentInterval } from '../evaluation/report/text-format.js';
import type { RuleFigures } from './rule-figures.js';
import type { TunedRules } from './tune-rules.js';
import { changeRows, gainRows, ruleRows, tuningSummary } from './tuning-text.js';

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  return htmlTable(
    head,
    rows.map((row) => row.map(escaped)),
  );
}

/** Each rule as a dot: attacks against benign texts that it fires in. */
function hitsPlot(rules: readonly RuleFigures[]): Plot {
  const points = rules
    .filter(({ hits }) => hits.attacks + hits.benign > 0)
    .map(({ hits }): Point => [hits.benign, hits.attacks]);
  const most = Math.max(1, ...points.flat());
  return {
    title: 'Rules by what they fire in',
    x: { name: 'benign texts, log scale', from: 0, to: most, scale: 'counts' },
    y: { name: 'attacks, log scale', from: 0, to: most, scale: 'counts' },
    hasDiagonal: true,
    series: [{ name: 'rules', tone: 'a', kind: 'dots', points }],
  };
}

/** How the cost is spread over the rules. */
function costPlot(rules: readonly RuleFigures[]): Plot {
  const costs = rules.flatMap(({ micros }) => (micros === null ? [] : [micros])).sort((a, b) => a - b);
  const points = costs.map((cost, i): Point => [cost, (i + 1) / costs.length]);
  return {
    title: 'Cost of a rule alone',
    x: { name: 'microseconds a text', from: 0, to: Math.max(0.1, costs.at(-1) ?? 0) },
    y: { name: 'share of the rules', from: 0, to: 1 },
    series: [{ name: 'rules', tone: 'a', kind: 'line', points }],
  };
}

/** The tuning as one HTML file that needs no network. */
export function tuningPage(tuned: TunedRules): string {
  const { confirm } = tuned;
  const { attacks, benign } = confirm;
  const cards = [
    [
      'recall, texts kept apart',
      `${formatPercent(confirm.before.recall, attacks)} → ${formatPercent(confirm.after.recall, attacks)}`,
      `${attacks} attacks; change ${percentInterval(confirm.gains.recall.interval, percentDecimals(attacks))}`,
    ],
    [
      'false positives there',
      `${formatPercent(confirm.before.falsePositiveRate, benign)} → ${formatPercent(confirm.after.falsePositiveRate, benign)}`,
      `${benign} benign texts; budget ${percent(tuned.maxFpr)}`,
    ],
    ['changes', String(tuned.changes.length), tuned.isConfirmed ? 'confirmed' : 'not confirmed'],
  ].map(([name, value, more]) => `<div class="card">${name}<b>${value}</b><span class="soft">${more}</span></div>`);
  const body = `<h1>Portcullis tuning</h1>
<p class="soft">${escaped(tuned.date)} · ${escaped(tuned.texts.join(', '))}</p>
${tuningSummary(tuned)
  .map((line) => `<p class="soft">${escaped(line)}</p>`)
  .join('\n')}
<div class="cards">${cards.join('')}</div>
<h2>Gain</h2>${table(gainRows(tuned))}
<h2>Changes</h2>${tuned.changes.length === 0 ? '<p>None.</p>' : table(changeRows(tuned.changes))}
<h2>Plots</h2><div class="plots">${[hitsPlot(tuned.rules), costPlot(tuned.rules)].map((plot) => `<figure>${plotSvg(plot)}</figure>`).join('\n')}</div>
<h2>Rules</h2><p class="soft">On the texts chosen on, before the changes. Unique: texts in which no other rule fires, attacks / benign. Marginal: texts blocked with the rule and not without it. Cost: the rule alone.</p>
${table(ruleRows(tuned))}`;
  return htmlPage('Portcullis tuning', body);
}
