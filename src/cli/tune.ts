import { Command, Option } from 'commander';
import type { Side } from '../tuning/report/sides.js';
import { scoreTexts } from '../tuning/scoring/score-texts.js';
import { thresholdOverlay, thresholdText } from '../tuning/thresholds/threshold-text.js';
import { tuneThreshold } from '../tuning/thresholds/tune-threshold.js';
import { CliError } from './cli-error.js';
import { type EngineFlags, withEngineFlags } from './engine-flags.js';
import { writeReport } from './eval.js';
import { progressLine } from './progress-line.js';
import { type RowFlags, readRows, shareOf, withRowFlags } from './row-flags.js';
import { screenerOf } from './screener.js';

interface TuneFlags extends EngineFlags, RowFlags {
  readonly benignOnly?: boolean;
  readonly side: Side;
  readonly budget: number;
  readonly confidence: number;
  readonly out?: string;
}

const runTune = async (files: readonly string[], flags: TuneFlags): Promise<void> => {
  if (!flags.benignOnly) throw new CliError('Give --benign-only: tune chooses thresholds from benign texts.');
  const { side, budget, confidence, out } = flags;
  const isOverlay = out !== undefined && /\.ya?ml$/.test(out);
  if (isOverlay && side !== 'rules')
    throw new CliError("An overlay holds the rules' threshold alone: give --out a .json file for the model's.");
  const screener = screenerOf(side === 'rules' ? { ...flags, model: 'off' } : flags);
  if (side !== 'rules' && screener.model === false)
    throw new CliError(`--side ${side} needs a model: give one with --model FOLDER, and leave out --mode rules.`);
  const { texts } = await readRows(files, flags);
  const progress = progressLine(process.stderr);
  const scored = await scoreTexts(texts, screener, {
    onProgress: (what, done) => progress.update(`${what}: ${done} of ${texts.length} texts`),
  });
  progress.clear();
  const tuned = tuneThreshold(scored, side, { budget, confidence });
  const json = `${JSON.stringify(tuned, null, 2)}\n`;
  if (out !== undefined) await writeReport(out, isOverlay ? thresholdOverlay(tuned) : json);
  process.stdout.write(flags.json ? json : thresholdText(tuned));
};

/** `portcullis tune --benign-only`: a threshold with a guarantee from the operator's own benign traffic. */
export const tuneCommand = (): Command =>
  withRowFlags(withEngineFlags(new Command('tune')))
    .description('choose a threshold from unlabelled benign traffic, with a guarantee on false alarms')
    .argument('<files...>', 'files or patterns: JSON Lines, CSV, Parquet, evidence exports')
    .option('--benign-only', 'every text is benign, save rows labelled as attacks, which are left out')
    .addOption(
      new Option('--side <side>', "whose threshold: the rules', the model's, or the model's beside the rules")
        .choices(['rules', 'model', 'both'])
        .default('rules'),
    )
    .option('--budget <share>', 'the largest false-positive rate that is borne', shareOf('--budget'), 0.01)
    .option('--confidence <share>', 'how sure that must be', shareOf('--confidence'), 0.99)
    .option('--out <file>', 'write an overlay (*.yaml) for --overlay, or the whole result (*.json)')
    .action(runTune);
