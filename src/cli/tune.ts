import { Command, Option } from 'commander';
import type { Side } from '../evaluation/report/sides.js';
import { scoreTexts } from '../evaluation/scoring/score-texts.js';
import { thresholdOverlay, thresholdText } from '../tuning/thresholds/threshold-text.js';
import { tuneThreshold } from '../tuning/thresholds/tune-threshold.js';
import { CliError } from './cli-error.js';
import { withScreenerFlags } from './engine-flags.js';
import { progressLine } from './progress-line.js';
import { countOf, readRows, shareOf, withRowFlags } from './row-flags.js';
import { screenerOf } from './screener.js';
import { type LabelledFlags, tuneLabelled } from './tune-labelled.js';
import { writeReport } from './write-report.js';

interface TuneFlags extends LabelledFlags {
  readonly benignOnly?: boolean;
  readonly side: Side;
  readonly budget: number;
  readonly confidence: number;
}

const tuneBenign = async (files: readonly string[], flags: TuneFlags): Promise<void> => {
  const { side, budget, confidence, out, json } = flags;
  const labelledOnly = (['maxFpr', 'choose', 'confirm', 'md', 'html'] as const).find(
    (flag) => flags[flag] !== undefined,
  );
  if (labelledOnly !== undefined)
    throw new CliError(
      '--max-fpr, --choose, --confirm, --md and --html are for labelled texts: leave out --benign-only.',
    );
  const isOverlay = out !== undefined && /\.ya?ml$/.test(out);
  if (isOverlay && side !== 'rules')
    throw new CliError("An overlay holds the rules' threshold alone: give --out a .json file for the model's.");
  const { json: _, ...engineFlags } = flags;
  const screener = screenerOf(side === 'rules' ? { ...engineFlags, model: 'off' } : engineFlags);
  if (side !== 'rules' && screener.model === false)
    throw new CliError(`--side ${side} needs a model: give one with --model FOLDER, and leave out --mode rules.`);
  const { texts } = await readRows(files, flags);
  const progress = progressLine(process.stderr);
  const scored = await scoreTexts(texts, screener, {
    onProgress: (what, done) => progress.update(`${what}: ${done} of ${texts.length} texts`),
  });
  progress.clear();
  const tuned = tuneThreshold(scored, side, { budget, confidence });
  const whole = `${JSON.stringify(tuned, null, 2)}\n`;
  if (out !== undefined) await writeReport(out, isOverlay ? thresholdOverlay(tuned) : whole);
  if (typeof json === 'string') await writeReport(json, whole);
  process.stdout.write(json === true ? whole : thresholdText(tuned));
};

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

/** `portcullis tune`: rules from labelled texts, or with `--benign-only` a threshold from benign traffic. */
export const tuneCommand = (): Command =>
  withRowFlags(withScreenerFlags(new Command('tune')))
    .description(
      'from labelled texts: what every rule does, and changes of rules within a budget of false alarms; with --benign-only: a threshold from unlabelled benign traffic, with a guarantee',
    )
    .argument('[files...]', 'files or patterns: JSON Lines, CSV, Parquet, evidence exports')
    .option('--max-fpr <share>', 'labelled texts: the largest false-positive rate that is borne', shareOf('--max-fpr'))
    .option('--choose <file>', 'labelled texts to choose the changes on; may be repeated', collect)
    .option('--confirm <file>', 'labelled texts to confirm them on; may be repeated', collect)
    .option(
      '--confirm-share <share>',
      'without those: the share of the families kept apart',
      shareOf('--confirm-share'),
      0.5,
    )
    .option('--seed <n>', 'of that split', countOf('--seed'), 1)
    .option('--support <n>', 'families of texts that a change must turn', countOf('--support'), 3)
    .option('--keep-weak', 'a rule that does not block alone never gets to')
    .option('--benign-only', 'every text is benign, save rows labelled as attacks, which are left out')
    .addOption(
      new Option('--side <side>', "benign texts: the rules' threshold, the model's, or the model's beside the rules")
        .choices(['rules', 'model', 'both'])
        .default('rules'),
    )
    .option(
      '--budget <share>',
      'benign texts: the largest false-positive rate that is borne',
      shareOf('--budget'),
      0.01,
    )
    .option('--confidence <share>', 'benign texts: how sure that must be', shareOf('--confidence'), 0.99)
    .option('--out <file>', 'write an overlay (*.yaml) for --overlay; for benign texts also the whole result (*.json)')
    .option('--json [file]', 'write everything as JSON; without a file to standard output')
    .option('--md <file>', 'labelled texts: write the report as Markdown')
    .option('--html <file>', 'labelled texts: write a self-contained report')
    .action((files: readonly string[], flags: TuneFlags) => {
      if (!flags.benignOnly) return tuneLabelled(files, flags);
      if (files.length === 0) throw new CliError('Give files of benign texts.');
      return tuneBenign(files, flags);
    });
