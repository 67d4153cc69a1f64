import { stringify } from 'yaml';
import { percent, percentInterval } from '../../evaluation/report/figure-text.js';
import type { RuleChange } from './choose-changes.js';
import type { TunedRules } from './tune-rules.js';

/** The changes as an overlay file (YAML), each with what it brought on the texts it was chosen on. */
export const changesOverlay = (changes: readonly RuleChange[], head: readonly string[] = []): string => {
  const lines = [...changes]
    .sort((a, b) => (a.rule < b.rule ? -1 : 1))
    .flatMap(({ rule, kind, change, before, attacks, benign }) => [
      `  # ${kind}, was ${before.status} ${before.score}: attacks found ${signed(attacks)}, false alarms ${signed(benign)}`,
      ...stringify({ [rule]: change })
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
    ]);
  const comments = head.map((line) => `# ${line}\n`).join('');
  return `${comments}rules:${lines.length === 0 ? ' {}' : `\n${lines.join('\n')}`}\n`;
};

/** A whole number with its sign. */
export const signed = (value: number): string => `${value >= 0 ? '+' : ''}${value}`;

/** What the overlay's head says of where it comes from. */
export const overlayHead = (tuned: TunedRules): readonly string[] => {
  const { confirm, maxFpr, rulesVersion, date } = tuned;
  return [
    `portcullis tune, ${date}, rules ${rulesVersion}, false-positive budget ${percent(maxFpr)}`,
    `on ${confirm.attacks + confirm.benign} texts kept apart: recall ${percent(confirm.before.recall)} -> ${percent(confirm.after.recall)} (change ${percentInterval(confirm.gains.recall.interval)}), false positives ${percent(confirm.before.falsePositiveRate)} -> ${percent(confirm.after.falsePositiveRate)}`,
  ];
};
