import { once } from 'node:events';
import { Command } from 'commander';
import { packageVersion } from '../../adapters/package-version.js';
import type { OutputRow } from '../../batch/row.js';
import { chooseThresholds, type EngineFlags, withScreenerFlags } from '../engine-flags.js';

interface ScorerFlags extends Omit<EngineFlags, 'json'> {
  readonly findings?: boolean;
  readonly today?: string;
  readonly channelField?: string;
  readonly taskField?: string;
}

/** Output rows are written together once they reach this many characters, or when no row is left to score. */
const PIECE = 64 * 1024;
/** Nobody waits for a row: a busy machine must not turn the model's verdicts into the rules'. */
const MODEL_MS = 60_000;

async function run(flags: ScorerFlags): Promise<void> {
  const { openWorkerEngine } = await import('../../workers/serve-engine.js');
  const { scoreRows } = await import('../../batch/score-stream.js');
  const { jsonLines, MAX_ROW_BYTES } = await import('../../batch/formats/json-lines.js');
  const today = flags.today ?? new Date().toISOString().slice(0, 10);
  const worker = await openWorkerEngine({
    packs: flags.pack,
    overlays: flags.overlay,
    today,
    model: flags.model === 'off' ? false : flags.model,
    mode: flags.mode,
    thresholds: chooseThresholds(flags),
    timeoutMs: MODEL_MS,
  });
  await worker.warmUp();
  const { engine } = worker;
  const { mode, mode_reason, rules_version, rules_threshold, ml_version, ml_threshold } = engine.info;
  const versions = { portcullis: packageVersion(), rules_version, rules_threshold, ml_version, ml_threshold, mode };
  process.stdout.write(`${JSON.stringify({ ready: { ...versions, today }, mode_reason })}\n`);

  let piece = '';
  const flush = (): boolean => {
    const all = piece;
    piece = '';
    return all === '' || process.stdout.write(all);
  };
  const add = (row: OutputRow): void => {
    if (piece === '') setImmediate(flush);
    piece += `${JSON.stringify(row)}\n`;
  };
  const rows = scoreRows(jsonLines(process.stdin, MAX_ROW_BYTES), {
    workers: { score: engine.analyze },
    findings: flags.findings,
    channelField: flags.channelField,
    taskField: flags.taskField,
    rowsAtOnce: 1,
  });
  for await (const { row } of rows) {
    add(row);
    if (piece.length >= PIECE && !flush()) await once(process.stdout, 'drain');
  }
  flush();
  await engine.close();
}

/** `portcullis scorer`: rows in, verdicts out, each as soon as it is ready, by an engine in this process. */
export function scorerCommand(): Command {
  return withScreenerFlags(
    new Command('scorer')
      .description(
        'screen JSON Lines {"id", "text"} from standard input to standard output, in one process; the first line of output names the versions. For engines such as Spark, which start one process per core',
      )
      .option('--findings', 'add the findings of each rule, with spans')
      .option('--channel-field <field>', 'the field with the origin of the text')
      .option('--task-field <field>', 'the field with the task that the user gave the agent')
      .option('--today <date>', 'date as YYYY-MM-DD, for the expiry of allow-list entries (default: today in UTC)'),
  ).action(run);
}
