import { escaped, htmlCards, htmlPage, textTable } from '../evaluation/html/page.js';
import { type Plot, type Point, plotSvg } from '../evaluation/html/plot.js';
import {
  alignedTable,
  formatPercent,
  markdownTable,
  percent,
  percentInterval,
} from '../evaluation/report/text-format.js';
import { type RuleChange, signed } from './choose-changes.js';
import type { RuleFigures } from './rule-figures.js';
import type { TunedPart, TunedRules } from './tune-rules.js';

type Cells = readonly (readonly string[])[];

function changeText({ kind, change, before }: RuleChange): string {
  if (change === 'off') return 'off';
  const was = `${before.status} ${before.score}`;
  const becomes = [change.status, change.score, change.paranoia === undefined ? undefined : `level ${change.paranoia}`];
  return `${kind}: ${was} -> ${becomes.filter((word) => word !== undefined).join(' ') || before.score}`;
}

function changeRows(changes: readonly RuleChange[]): Cells {
  return [
    ['rule', 'change', 'attacks found', 'false positives', 'families'],
    ...changes.map((change) => [
      change.rule,
      changeText(change),
      signed(change.attacks),
      signed(change.benign),
      String(change.families),
    ]),
  ];
}

function rates({ attacks, benign, before, after }: Pick<TunedPart, 'attacks' | 'benign' | 'before' | 'after'>) {
  return {
    recall: [before.recall, after.recall].map((share) => formatPercent(share, attacks)),
    alarms: [before.falsePositiveRate, after.falsePositiveRate].map((share) => formatPercent(share, benign)),
  };
}

function gainRows({ choose, confirm }: TunedRules): Cells {
  const row = (name: string, of: (part: TunedPart) => readonly string[]) => [name, ...of(choose), ...of(confirm)];
  return [
    ['', 'chosen on', 'after', 'change, 95 %', 'confirmed on', 'after', 'change, 95 %'],
    row('attacks', ({ attacks }) => [String(attacks), '', '']),
    row('benign', ({ benign }) => [String(benign), '', '']),
    row('recall', (part) => [...rates(part).recall, percentInterval(part.gains.recall.interval, part.attacks)]),
    row('false positives', (part) => [
      ...rates(part).alarms,
      percentInterval(part.gains.falsePositiveRate.interval, part.benign),
    ]),
  ];
}

/** Returns the effect of the changes on the texts kept apart, by channel, as rows, the head first; the head alone where no text names a channel. */
function channelRows({ confirm: { byChannel } }: TunedRules): Cells {
  return [
    ['channel', 'attacks', 'recall', 'after', 'benign', 'false positives', 'after'],
    ...byChannel.map(({ channel, before, after }) => {
      const { attacks, benign } = before;
      const { recall, alarms } = rates({ attacks, benign, before, after });
      return [channel, String(attacks), ...recall, String(benign), ...alarms];
    }),
  ];
}

/** The table of rules that fired, its head first; those with the most marginal false positives first, then by marginal attacks. */
function ruleRows({ rules, choose }: TunedRules): Cells {
  return [
    [
      'rule',
      'score',
      'attacks',
      'benign',
      'unique',
      'precision',
      '95 % interval',
      'marginal recall',
      'marginal FP',
      'also fires',
      'µs',
    ],
    ...[...rules]
      .filter(({ hits }) => hits.attacks + hits.benign > 0)
      .sort((a, b) => b.marginal.benign - a.marginal.benign || b.marginal.attacks - a.marginal.attacks)
      .map((rule) => [
        rule.rule,
        `${rule.score}${rule.status === 'stable' ? '' : ` ${rule.status}`}${rule.paranoia === 1 ? '' : ` level ${rule.paranoia}`}`,
        String(rule.hits.attacks),
        String(rule.hits.benign),
        `${rule.unique.attacks} / ${rule.unique.benign}`,
        formatPercent(rule.precision, rule.hits.attacks + rule.hits.benign),
        percentInterval(rule.precisionInterval, rule.hits.attacks + rule.hits.benign),
        `${rule.marginal.attacks} (${formatPercent(rule.marginal.recall, choose.attacks)})`,
        `${rule.marginal.benign} (${formatPercent(rule.marginal.falsePositiveRate, choose.benign)})`,
        rule.redundantWith === null ? '-' : `${rule.redundantWith.rule} ${percent(rule.redundantWith.share, 0)}`,
        rule.micros === null ? '-' : rule.micros.toFixed(1),
      ]),
  ];
}

function confirmedWords({ confirm }: TunedRules): string {
  const { recall, alarms } = rates(confirm);
  return `recall ${recall.join(' -> ')} of ${confirm.attacks} attacks, false positives ${alarms.join(' -> ')} of ${confirm.benign} benign texts`;
}

function tuningSummary(tuned: TunedRules): readonly string[] {
  const { choose, confirm, rules, changes } = tuned;
  const silent = rules.filter(({ hits }) => hits.attacks + hits.benign === 0).length;
  const outcome =
    changes.length === 0
      ? 'No change is worth it within the budget.'
      : `${changes.length} changes; ${tuned.isConfirmed ? 'confirmed' : 'NOT confirmed'} on the texts kept apart: ${confirmedWords(tuned)}, budget ${percent(tuned.maxFpr)}.`;
  return [
    `Rules ${tuned.rulesVersion}, block at ${tuned.threshold}. Chosen on ${choose.attacks + choose.benign} texts in ${choose.families} families, confirmed on ${confirm.attacks + confirm.benign} in ${confirm.families}${tuned.straddling > 0 ? `; ${tuned.straddling} left out as near duplicates` : ''}.`,
    outcome,
    `${rules.length} rules, ${silent} of them silent on these texts: there is no evidence for or against those.`,
    ...(tuned.rescoredOtherwise > 0
      ? [
          `${tuned.rescoredOtherwise} texts are blocked otherwise by their listed findings than by the scan; the figures above are the scans'.`,
        ]
      : []),
  ];
}

/** Rules that the terminal shows; files have all. */
const MOST_RULES = 40;

/** The tuning for a terminal. */
export function tuningText(tuned: TunedRules): string {
  const table = ruleRows(tuned);
  const more =
    table.length - 1 > MOST_RULES
      ? `\n… and ${table.length - 1 - MOST_RULES} rules more: --json, --md or --html has all`
      : '';
  const channels = tuned.confirm.byChannel.length > 0 ? `\n\n${alignedTable(channelRows(tuned))}` : '';
  const changes = tuned.changes.length > 0 ? `\n\n${alignedTable(changeRows(tuned.changes))}` : '';
  return `${tuningSummary(tuned).join('\n')}\n\n${alignedTable(gainRows(tuned))}${channels}${changes}\n\n${alignedTable(table.slice(0, MOST_RULES + 1))}${more}\n`;
}

/** The tuning as a page of Markdown. It quotes no text. */
export function tuningMarkdown(tuned: TunedRules): string {
  return `# Tuning, ${tuned.date}

Texts: ${tuned.texts.join(', ')}. ${tuningSummary(tuned).join('\n')}

## Gain

${markdownTable(gainRows(tuned))}
${tuned.confirm.byChannel.length === 0 ? '' : `\n### By channel, on the texts kept apart\n\n${markdownTable(channelRows(tuned))}\n`}
## Changes

${tuned.changes.length === 0 ? 'None.' : markdownTable(changeRows(tuned.changes))}

## Rules, on the texts chosen on

${markdownTable(ruleRows(tuned))}
`;
}

/** Returns the comment at the head of the overlay that tells its origin. */
export function overlayHead(tuned: TunedRules): readonly string[] {
  const { maxFpr, rulesVersion, date } = tuned;
  return [
    `portcullis tune, ${date}, rules ${rulesVersion}, false-positive budget ${percent(maxFpr)}`,
    `on texts kept apart: ${confirmedWords(tuned)}`,
  ];
}

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
  const { recall, alarms } = rates(confirm);
  const cards = htmlCards([
    [
      'recall, texts kept apart',
      recall.join(' → '),
      `${attacks} attacks; change ${percentInterval(confirm.gains.recall.interval, attacks)}`,
    ],
    ['false positives there', alarms.join(' → '), `${benign} benign texts; budget ${percent(tuned.maxFpr)}`],
    ['changes', String(tuned.changes.length), tuned.isConfirmed ? 'confirmed' : 'not confirmed'],
  ]);
  const body = `<h1>Portcullis tuning</h1>
<p class="soft">${escaped(tuned.date)} · ${escaped(tuned.texts.join(', '))}</p>
${tuningSummary(tuned)
  .map((line) => `<p class="soft">${escaped(line)}</p>`)
  .join('\n')}
${cards}
<h2>Gain</h2>${textTable(gainRows(tuned))}${tuned.confirm.byChannel.length === 0 ? '' : `<h2>By channel</h2>${textTable(channelRows(tuned))}`}
<h2>Changes</h2>${tuned.changes.length === 0 ? '<p>None.</p>' : textTable(changeRows(tuned.changes))}
<h2>Plots</h2><div class="plots">${[hitsPlot(tuned.rules), costPlot(tuned.rules)].map((plot) => `<figure>${plotSvg(plot)}</figure>`).join('\n')}</div>
<h2>Rules</h2><p class="soft">On the texts chosen on, before the changes. Unique: texts in which no other rule fires, attacks / benign. Marginal: texts blocked with the rule and not without it. Cost: the rule alone.</p>
${textTable(ruleRows(tuned))}`;
  return htmlPage('Portcullis tuning', body);
}
