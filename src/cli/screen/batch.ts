import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Command, Option } from 'commander';
import { latencyAt } from '../../batch/batch-counts.js';
import type { RowFields } from '../../batch/row.js';
import type { BatchJob, BatchProgress, BatchResult } from '../../batch/run-batch.js';
import { choice, chooseThresholds, type EngineFlags, wholeNumber, withEngineFlags } from '../engine-flags.js';
import { CliError, formatDuration, formatRate, progressLine } from '../terminal.js';

type JobFlags = Pick<BatchJob, keyof RowFields | 'out' | 'format' | 'findings' | 'resume' | 'strict'>;

interface BatchFlags extends EngineFlags, JobFlags {
  readonly workers?: number;
  readonly scorers?: number;
  readonly failOn?: 'block';
  readonly summary?: string;
}

/** JSON events come at most this often. */
const EVENT_MS = 2_000;

/** Says how far the batch is: a line that is written over on a terminal, JSON events elsewhere. */
function reporter(asEvents: boolean): ((progress: BatchProgress) => void) & { readonly clear: () => void } {
  const line = progressLine(process.stderr);
  const started = performance.now();
  let said = started;
  const report = ({ counts, resumedRows, bytesRead, bytesTotal }: BatchProgress): void => {
    const now = performance.now();
    const seconds = (now - started) / 1_000;
    const rate = (counts.rows - resumedRows) / seconds;
    const share = bytesTotal === undefined || bytesTotal === 0 ? undefined : bytesRead / bytesTotal;
    const left = share === undefined || share === 0 ? undefined : (seconds * (1 - share)) / share;
    const ends = left === undefined ? '' : `, ${Math.round((share ?? 0) * 100)} %, ${formatDuration(left)} left`;
    line.update(`${counts.rows} rows, ${counts.blocked} blocked, ${formatRate(rate)} a second${ends}`);
    if (!asEvents || now - said < EVENT_MS) return;
    said = now;
    const event = { event: 'progress', rows: counts.rows, blocked: counts.blocked, bad: counts.bad };
    process.stderr.write(
      `${JSON.stringify({ ...event, rows_per_second: Math.round(rate), seconds_left: left === undefined ? null : Math.ceil(left) })}\n`,
    );
  };
  return Object.assign(report, { clear: () => line.clear() });
}

async function run(inputs: readonly string[], flags: BatchFlags): Promise<void> {
  const { runBatch } = await import('../../batch/run-batch.js');
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
      workers: flags.workers ?? flags.scorers ?? availableParallelism(),
      engine: {
        packs: flags.pack,
        overlays: flags.overlay,
        model: flags.model === 'off' ? false : flags.model,
        mode: flags.mode,
        thresholds: chooseThresholds(flags),
      },
      onProgress: report,
    });
  } finally {
    report.clear();
  }
  const seconds = (performance.now() - started) / 1_000;
  const summary = summaryJson(result, seconds);
  if (flags.summary !== undefined) await writeFile(flags.summary, `${JSON.stringify(summary, null, 2)}\n`);
  process.stderr.write(`${asEvents ? JSON.stringify(summary) : summaryText(result, seconds)}\n`);
  const blocked = flags.failOn === 'block' && result.counts.blocked > 0;
  process.exitCode = result.counts.bad > 0 ? 1 : blocked ? 3 : 0;
}

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), ...value.split(',')];
}

/** `portcullis batch`: rows in, one row of id and Verdict out, in the same order, on all cores. */
export function batchCommand(): Command {
  return withEngineFlags(
    new Command('batch')
      .description(
        'screen JSON Lines, CSV or Parquet row by row; exits with 0, 1 if some rows could not be screened, 2 for an error, 3 for --fail-on block',
      )
      .argument('<input...>', 'files or patterns, also .gz and .zst; "-" reads standard input')
      .requiredOption('--out <file>', 'output file; "-" is standard output')
      .addOption(
        choice('--format <format>', 'format of files without a known extension', ['jsonl', 'csv', 'tsv', 'parquet']),
      )
      .option('--text-field <field>', 'the field that holds the text: a name, or a path such as a.b[0].c', 'text')
      .option('--id-field <field>', 'the field with the row\'s id (default: "id", else the line number)')
      .option('--channel-field <field>', 'the field with the origin of the text (default: no row has one)')
      .option('--task-field <field>', 'the field with the task that the user gave the agent (default: no row has one)')
      .option('--keep <fields>', 'fields to copy into the output, separated by commas', collect)
      .option('--findings', 'add the findings of each rule, with spans')
      .option('--workers <number>', 'engine workers (default: one per core)', wholeNumber(1, 1_024))
      .addOption(new Option('--scorers <number>').argParser(wholeNumber(1, 1_024)).hideHelp())
      .option('--resume', 'resume an interrupted run')
      .option('--strict', 'stop at the first row that cannot be screened')
      .addOption(choice('--fail-on <what>', 'exit with 3 if any row is blocked', ['block']))
      .option('--summary <file>', 'write the summary as JSON'),
  ).action(run);
}

/** The summary of a batch as JSON. Latencies are upper bounds of power-of-two buckets, milliseconds, of the rows scored. */
export function summaryJson(result: BatchResult, seconds: number): Readonly<Record<string, unknown>> {
  const { counts } = result;
  const { rows, blocked, bad, repeated, fallbacks } = counts;
  return {
    event: 'summary',
    rows,
    blocked,
    allowed: rows - blocked - bad,
    bad,
    first_error: counts.firstError,
    repeated,
    model_fallbacks: fallbacks,
    resumed_rows: result.resumedRows,
    rules: Object.fromEntries(Object.entries(counts.rules).sort(([, a], [, b]) => b - a)),
    latency_ms: { p50: latencyAt(counts, 0.5), p95: latencyAt(counts, 0.95), p99: latencyAt(counts, 0.99) },
    seconds,
    rows_per_second: Math.round((rows - result.resumedRows) / seconds),
    workers_lost: result.workersLost,
    scorers_lost: result.workersLost,
    mode: result.mode,
    rules_version: result.rulesVersion,
    ml_version: result.mlVersion,
  };
}

/** The same in a few lines for a person. */
export function summaryText(result: BatchResult, seconds: number): string {
  const { counts } = result;
  const { rows, blocked, bad, repeated, fallbacks } = counts;
  const rate = Math.round((rows - result.resumedRows) / seconds);
  const fired = Object.entries(counts.rules).sort(([, a], [, b]) => b - a);
  const shown = fired.slice(0, 5).map(([rule, count]) => `${rule} ${count}`);
  const more = fired.length > shown.length ? [`${fired.length - shown.length} more`] : [];
  const latency = [0.5, 0.95, 0.99].map((share) => `p${share * 100} ${latencyAt(counts, share) ?? '-'}`);
  const odd = [
    [repeated, 'repeated'],
    [result.resumedRows, 'scored in an earlier run'],
    [fallbacks, 'decided by the rules because the model failed'],
    [result.workersLost, 'workers lost'],
  ].flatMap(([count, what]) => (Number(count) > 0 ? [`${count} ${what}`] : []));
  return [
    `${rows} rows in ${seconds.toFixed(1)} s, ${rate} a second: ${blocked} blocked, ${rows - blocked - bad} allowed, ${bad} not screened`,
    ...(counts.firstError === null
      ? []
      : [`first row not screened: line ${counts.firstError.line}: ${counts.firstError.error}`]),
    ...(odd.length > 0 ? [odd.join(', ')] : []),
    ...(fired.length > 0 ? [`blocked by ${[...shown, ...more].join(', ')}`] : []),
    `${latency.join(', ')} ms at most; mode ${result.mode}, rules ${result.rulesVersion}, model ${result.mlVersion}`,
  ].join('\n');
}
