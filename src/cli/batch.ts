import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Command, Option } from 'commander';
import type { BatchProgress, BatchResult } from '../batch/run-batch.js';
import { batchSummary, summaryText } from './batch-summary.js';
import { CliError } from './cli-error.js';
import { type EngineFlags, withEngineFlags } from './engine-flags.js';
import { progressLine } from './progress-line.js';

interface BatchFlags extends EngineFlags {
  readonly out: string;
  readonly format?: 'jsonl' | 'csv' | 'parquet';
  readonly textField: string;
  readonly idField?: string;
  readonly keep?: readonly string[];
  readonly findings?: boolean;
  readonly scorers?: number;
  readonly resume?: boolean;
  readonly strict?: boolean;
  readonly failOn?: 'block';
  readonly summary?: string;
}

/** JSON events come at most this often. */
const EVENT_MS = 2_000;

/** Says how far the batch is: a line that is written over on a terminal, JSON events elsewhere. */
const reporter = (asEvents: boolean): ((progress: BatchProgress) => void) & { readonly clear: () => void } => {
  const line = progressLine(process.stderr);
  const started = performance.now();
  let said = started;
  const report = ({ counts, resumedRows, bytesRead, bytesTotal }: BatchProgress): void => {
    const now = performance.now();
    const seconds = (now - started) / 1_000;
    const rate = (counts.rows - resumedRows) / seconds;
    const share = bytesTotal === undefined || bytesTotal === 0 ? undefined : bytesRead / bytesTotal;
    const left = share === undefined || share === 0 ? undefined : (seconds * (1 - share)) / share;
    const ends = left === undefined ? '' : `, ${Math.round((share ?? 0) * 100)} %, ${Math.ceil(left)} s left`;
    line.update(`${counts.rows} rows, ${counts.blocked} blocked, ${Math.round(rate)} a second${ends}`);
    if (!asEvents || now - said < EVENT_MS) return;
    said = now;
    const event = { event: 'progress', rows: counts.rows, blocked: counts.blocked, bad: counts.bad };
    process.stderr.write(
      `${JSON.stringify({ ...event, rows_per_second: Math.round(rate), seconds_left: left === undefined ? null : Math.ceil(left) })}\n`,
    );
  };
  return Object.assign(report, { clear: () => line.clear() });
};

const run = async (inputs: readonly string[], flags: BatchFlags): Promise<void> => {
  const { runBatch } = await import('../batch/run-batch.js');
  if (flags.model === 'off' && (flags.mode === 'hybrid' || flags.mode === 'shadow'))
    throw new CliError(`Mode ${flags.mode} needs a model: leave out --model off.`);
  const asEvents = flags.json === true || process.stderr.isTTY !== true;
  const report = reporter(asEvents);
  const started = performance.now();
  let result: BatchResult;
  try {
    result = await runBatch({
      ...flags,
      inputs,
      scorers: flags.scorers ?? availableParallelism(),
      engine: {
        packs: flags.pack,
        overlays: flags.overlay,
        model: flags.model === 'off' ? false : flags.model,
        mode: flags.mode,
      },
      onProgress: report,
    });
  } finally {
    report.clear();
  }
  const seconds = (performance.now() - started) / 1_000;
  const summary = batchSummary(result, seconds);
  if (flags.summary !== undefined) await writeFile(flags.summary, `${JSON.stringify(summary, null, 2)}\n`);
  process.stderr.write(`${asEvents ? JSON.stringify(summary) : summaryText(result, seconds)}\n`);
  const blocked = flags.failOn === 'block' && result.counts.blocked > 0;
  process.exitCode = result.counts.bad > 0 ? 1 : blocked ? 3 : 0;
};

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  ...value.split(','),
];

const count = (value: string): number => {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1 || number > 1_024)
    throw new CliError('--scorers takes a number from 1 on.');
  return number;
};

/** `portcullis batch`: rows in, one row of id and Verdict out, in the same order, on all cores. */
export const batchCommand = (): Command =>
  withEngineFlags(
    new Command('batch')
      .description(
        'screen JSON Lines, CSV or Parquet row by row; exits with 0, with 1 if some rows could not be screened, with 2 for an error, with 3 for --fail-on block',
      )
      .argument('<input...>', 'files or patterns, also .gz and .zst; "-" reads standard input')
      .requiredOption('--out <file>', 'where the rows go; "-" is standard output')
      .addOption(new Option('--format <format>', 'where the name does not say').choices(['jsonl', 'csv', 'parquet']))
      .option('--text-field <field>', 'the field that holds the text: a name, or a path such as a.b[0].c', 'text')
      .option('--id-field <field>', 'the field that names the row (default: "id", or the line number)')
      .addOption(new Option('--keep <fields>', 'fields to copy into the output, by comma').argParser(collect))
      .option('--findings', 'add what each rule found, and where')
      .addOption(new Option('--scorers <number>', 'scorer processes (default: one a core)').argParser(count))
      .option('--resume', 'go on where a run that was interrupted left off')
      .option('--strict', 'stop at the first row that can not be screened')
      .addOption(new Option('--fail-on <what>', 'exit with 3 if any row is blocked').choices(['block']))
      .option('--summary <file>', 'write the summary as JSON'),
  ).action(run);
