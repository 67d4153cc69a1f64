import { type Command, Option } from 'commander';
import { ALL_CHANNELS } from '../../engine/channel.js';
import { type FieldNames, type ReadTexts, readLabelled } from '../../evaluation/rows/labelled-text.js';
import { chooseRows } from '../../evaluation/rows/split-rows.js';
import { CliError } from '../terminal.js';

export interface RowFlags extends Readonly<Partial<Record<`${keyof FieldNames}Field`, string>>> {
  readonly limit?: number;
  readonly maxPerSource?: number;
  readonly per?: number;
  readonly skipBadRows?: boolean;
}

/** A whole number above 0. @throws CliError */
export function parseCount(name: string) {
  return (value: string): number => {
    const count = Number(value);
    if (!Number.isSafeInteger(count) || count < 1) throw new CliError(`${name} takes a whole number above 0.`);
    return count;
  };
}

/** A number from 0 to 1. @throws CliError */
export function parseShare(name: string) {
  return (value: string): number => {
    const share = Number(value);
    if (value.trim() === '' || !(share >= 0 && share <= 1)) throw new CliError(`${name} takes a number from 0 to 1.`);
    return share;
  };
}

export function withRowFlags(command: Command): Command {
  return command
    .option('--text-field <field>', 'field that holds the text (default: text, input, prompt or content)')
    .option('--channel-field <field>', 'field with the origin of the text (default: channel)')
    .option('--task-field <field>', 'field with the task that the user gave the agent (default: task)')
    .option('--label-field <field>', 'field that holds the label (default: label)')
    .option('--source-field <field>', 'field that holds the source (default: source, else the file name)')
    .option('--group-field <field>', 'field that holds the group (default: group, kind or category)')
    .option('--language-field <field>', 'field that holds the language (default: language or lang)')
    .option('--together-field <field>', 'rows with the same value stay in the same split (default: pair or together)')
    .option('--limit <n>', 'use at most this many texts, the same ones in every run', parseCount('--limit'))
    .option(
      '--max-per-source <n>',
      'use at most this many texts of each source and label',
      parseCount('--max-per-source'),
    )
    .addOption(new Option('--per <n>').argParser(parseCount('--per')).hideHelp())
    .option('--skip-bad-rows', 'skip rows without a text or with an unknown label, instead of stopping');
}

function mistakesText({ mistakes, leftOut }: ReadTexts): string {
  const { 'not kept whole': _, ...wrong } = leftOut;
  const all = Object.values(wrong).reduce((sum, n) => sum + n, 0);
  const lines = mistakes.map(({ file, line, fault }) => `  ${file}:${line}: ${fault}`);
  const more = all > mistakes.length ? [`  … and ${all - mistakes.length} more`] : [];
  return `${all} ${all === 1 ? "row can't" : "rows can't"} be used:\n${[...lines, ...more].join('\n')}
A label is 0 or 1, benign or injection, or a mark of the dashboard (false_alarm, correct_allow, missed_attack, correct_block); a channel is one of ${ALL_CHANNELS.join(', ')}. Name the fields with --text-field, --label-field and --channel-field, or skip such rows with --skip-bad-rows.`;
}

/** Reads the texts that the flags name. @throws CliError with the lines that can't be used, or if no line can be used */
export async function readRows(files: readonly string[], flags: RowFlags): Promise<ReadTexts> {
  const read = await readLabelled(files, {
    text: flags.textField,
    channel: flags.channelField,
    task: flags.taskField,
    label: flags.labelField,
    source: flags.sourceField,
    group: flags.groupField,
    language: flags.languageField,
    together: flags.togetherField,
  });
  if (read.mistakes.length > 0 && !flags.skipBadRows) throw new CliError(mistakesText(read));
  if (read.texts.length === 0) {
    const why = Object.entries(read.leftOut).map(([reason, n]) => `${n} rows: ${reason}`);
    throw new CliError(`No usable text was found${why.length > 0 ? ` (${why.join('; ')})` : ''}.`);
  }
  return {
    ...read,
    texts: chooseRows(read.texts, { limit: flags.limit, maxPerSource: flags.maxPerSource ?? flags.per }),
  };
}
