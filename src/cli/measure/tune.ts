import { basename } from 'node:path';
import { Command } from 'commander';
import type { Side } from '../../evaluation/report/sides.js';
import { labelWarnings } from '../../evaluation/rows/labelled-text.js';
import { givenSplit, type SplitRows, splitRows } from '../../evaluation/rows/split-rows.js';
import { scoreTexts } from '../../evaluation/scoring/score-texts.js';
import { changesOverlay } from '../../tuning/choose-changes.js';
import { tuneRules } from '../../tuning/tune-rules.js';
import { thresholdOverlay, thresholdText, tuneThreshold } from '../../tuning/tune-threshold.js';
import { overlayHead, tuningMarkdown, tuningPage, tuningText } from '../../tuning/tuning-report.js';
import { choice, collect, type EngineFlags, setupOfFlags, withScreenerFlags } from '../engine-flags.js';
import { writeReport } from '../screen/text-files.js';
import { CliError, progressCounter } from '../terminal.js';
import { parseCount, parseShare, type RowFlags, readRows, withRowFlags } from './row-flags.js';

interface TuneFlags extends LabelledFlags {
  readonly benignOnly?: boolean;
  readonly side: Side;
  readonly budget: number;
  readonly confidence: number;
}

async function tuneBenign(files: readonly string[], flags: TuneFlags): Promise<void> {
  const { side, budget, confidence, out, json } = flags;
  const labelledOnly = (['maxFpr', 'choose', 'confirm', 'md', 'html'] as const).find(
    (flag) => flags[flag] !== undefined,
  );
  if (labelledOnly !== undefined)
    throw new CliError(
      '--max-fpr, --choose, --confirm, --md and --html are for labelled texts: leave out --benign-only.',
    );
  const isOverlay = out !== undefined && /\.ya?ml$/.test(out);
  const { json: _, ...engineFlags } = flags;
  const setup = setupOfFlags(side === 'rules' ? { ...engineFlags, model: 'off' } : engineFlags);
  if (side !== 'rules' && setup.model === false)
    throw new CliError(`--side ${side} needs a model: give one with --model NAME, and leave out --mode rules.`);
  const { texts } = await readRows(files, flags);
  if (side !== 'rules' && out !== undefined && !isOverlay && !/\.json$/.test(out))
    throw new CliError('--out writes an overlay or the whole result: give it a .yaml or a .json file.');
  const progress = progressCounter(process.stderr);
  const scored = await scoreTexts(texts, setup, {
    onProgress: (what, done) => progress.update(`texts, ${what}`, done, texts.length),
  });
  progress.clear();
  const date = new Date().toISOString().slice(0, 10);
  const tuned = tuneThreshold(scored, side, { budget, confidence });
  const whole = `${JSON.stringify(tuned, null, 2)}\n`;
  if (out !== undefined) await writeReport(out, isOverlay ? thresholdOverlay(tuned, date) : whole);
  if (typeof json === 'string') await writeReport(json, whole);
  process.stdout.write(json === true ? whole : thresholdText(tuned));
}

/** `portcullis tune`: rules from labelled texts, or with `--benign-only` a threshold from benign traffic. */
export function tuneCommand(): Command {
  return withRowFlags(withScreenerFlags(new Command('tune')))
    .description(
      'from labelled texts: measure each rule and find changes within a false-positive budget; with --benign-only: derive a threshold from benign traffic, with a statistical guarantee',
    )
    .argument('[files...]', 'files or patterns: JSON Lines, CSV, Parquet, evidence exports')
    .option('--max-fpr <share>', 'labelled texts: the largest false-positive rate allowed', parseShare('--max-fpr'))
    .option('--choose <file>', 'labelled texts to choose the changes on; may be repeated', collect)
    .option('--confirm <file>', 'labelled texts to confirm the changes on; may be repeated', collect)
    .option(
      '--confirm-share <share>',
      'without --choose and --confirm: share of families to confirm on',
      parseShare('--confirm-share'),
      0.5,
    )
    .option('--seed <n>', 'seed of that split', parseCount('--seed'), 1)
    .option('--support <n>', 'families of texts that a change must affect', parseCount('--support'), 3)
    .option('--keep-weak', 'do not raise the score of a rule to the blocking threshold')
    .option('--benign-only', 'treat every text as benign; rows labelled as attacks are left out')
    .addOption(
      choice(
        '--side <side>',
        'benign texts: derive the threshold of the rules, of the model alone, or of the model used with the rules',
        ['rules', 'model', 'both'],
        'rules',
      ),
    )
    .option('--budget <share>', 'benign texts: the largest false-positive rate allowed', parseShare('--budget'), 0.01)
    .option('--confidence <share>', 'benign texts: probability that the budget holds', parseShare('--confidence'), 0.99)
    .option(
      '--out <file>',
      'write an overlay for --overlay (*.yaml); with --benign-only, *.json writes the full result',
    )
    .option('--json [file]', 'write everything as JSON to a file (default: standard output)')
    .option('--md <file>', 'labelled texts: write the report as Markdown')
    .option('--html <file>', 'labelled texts: write a self-contained report')
    .action((files: readonly string[], flags: TuneFlags) => {
      if (!flags.benignOnly) return tuneLabelled(files, flags);
      if (files.length === 0) throw new CliError('Give files of benign texts.');
      return tuneBenign(files, flags);
    });
}

export interface LabelledFlags extends Omit<EngineFlags, 'json'>, RowFlags {
  readonly json?: string | true;
  readonly md?: string;
  readonly html?: string;
  readonly out?: string;
  readonly maxFpr?: number;
  readonly choose?: readonly string[];
  readonly confirm?: readonly string[];
  readonly confirmShare: number;
  readonly seed: number;
  readonly support: number;
  readonly keepWeak?: boolean;
}

async function chooseSplit(files: readonly string[], flags: LabelledFlags): Promise<SplitRows> {
  const { choose, confirm } = flags;
  if (choose === undefined && confirm === undefined)
    return splitRows((await readRows(files, flags)).texts, flags.confirmShare, flags.seed);
  if (choose === undefined || confirm === undefined || files.length > 0)
    throw new CliError('Give files to split, or both --choose and --confirm.');
  return givenSplit((await readRows(choose, flags)).texts, (await readRows(confirm, flags)).texts);
}

/** Tunes the rules on labelled texts. Exit code 1 where the changes aren't confirmed; the overlay isn't written then. */
export async function tuneLabelled(files: readonly string[], flags: LabelledFlags): Promise<void> {
  const { maxFpr, json, out } = flags;
  if (maxFpr === undefined)
    throw new CliError(
      'Give the largest false-positive rate allowed: --max-fpr SHARE, for example 0.005; or use --benign-only.',
    );
  if (out !== undefined && !/\.ya?ml$/.test(out)) throw new CliError('--out writes an overlay: give it a .yaml file.');
  const named = [...files, ...(flags.choose ?? []), ...(flags.confirm ?? [])];
  if (named.length === 0) throw new CliError('Give labelled texts: files, or --choose and --confirm.');
  const split = await chooseSplit(files, flags);
  for (const warning of labelWarnings([...split.choose, ...split.confirm]))
    process.stderr.write(`warning: ${warning}\n`);
  const progress = progressCounter(process.stderr);
  const tuned = await tuneRules(split, {
    packs: flags.pack,
    overlays: flags.overlay,
    maxFpr,
    support: flags.support,
    keepWeak: flags.keepWeak ?? false,
    seed: flags.seed,
    date: new Date().toISOString().slice(0, 10),
    files: named.map((file) => basename(file)),
    onProgress: progress.update,
  });
  progress.clear();
  const whole = `${JSON.stringify(tuned, null, 2)}\n`;
  if (typeof json === 'string') await writeReport(json, whole);
  if (flags.md !== undefined) await writeReport(flags.md, tuningMarkdown(tuned));
  if (flags.html !== undefined) await writeReport(flags.html, tuningPage(tuned));
  if (out !== undefined && tuned.isConfirmed) await writeReport(out, changesOverlay(tuned.changes, overlayHead(tuned)));
  process.stdout.write(json === true ? whole : tuningText(tuned));
  if (tuned.changes.length === 0 || tuned.isConfirmed) return;
  process.exitCode = 1;
  if (out !== undefined) process.stderr.write(`${out} was not written: the changes are not confirmed.\n`);
}
