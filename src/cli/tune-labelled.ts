import { basename } from 'node:path';
import { givenSplit, type SplitRows, splitRows } from '../evaluation/rows/split-rows.js';
import { changesOverlay, overlayHead } from '../tuning/rules/changes-overlay.js';
import { tuneRules } from '../tuning/rules/tune-rules.js';
import { tuningMarkdown, tuningText } from '../tuning/rules/tuning-text.js';
import { tuningPage } from '../tuning/tuning-page.js';
import { CliError } from './cli-error.js';
import type { EngineFlags } from './engine-flags.js';
import { progressLine } from './progress-line.js';
import { type RowFlags, readRows } from './row-flags.js';
import { writeReport } from './write-report.js';

/** The options of `tune` for labelled texts. */
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

const splitOf = async (files: readonly string[], flags: LabelledFlags): Promise<SplitRows> => {
  const { choose, confirm } = flags;
  if (choose === undefined && confirm === undefined)
    return splitRows((await readRows(files, flags)).texts, flags.confirmShare, flags.seed);
  if (choose === undefined || confirm === undefined || files.length > 0)
    throw new CliError('Give files to split, or both --choose and --confirm.');
  return givenSplit((await readRows(choose, flags)).texts, (await readRows(confirm, flags)).texts);
};

/** Tunes the rules on labelled texts. Exit code 1 where the changes aren't confirmed; the overlay isn't written then. */
export const tuneLabelled = async (files: readonly string[], flags: LabelledFlags): Promise<void> => {
  const { maxFpr, json, out } = flags;
  if (maxFpr === undefined)
    throw new CliError('Say how many false alarms you bear: --max-fpr SHARE, e.g. 0.005; or give --benign-only.');
  if (out !== undefined && !/\.ya?ml$/.test(out)) throw new CliError('--out writes an overlay: give it a .yaml file.');
  const named = [...files, ...(flags.choose ?? []), ...(flags.confirm ?? [])];
  if (named.length === 0) throw new CliError('Give labelled texts: files, or --choose and --confirm.');
  const split = await splitOf(files, flags);
  const progress = progressLine(process.stderr);
  const tuned = await tuneRules(split, {
    packs: flags.pack,
    overlays: flags.overlay,
    maxFpr,
    support: flags.support,
    keepWeak: flags.keepWeak ?? false,
    seed: flags.seed,
    date: new Date().toISOString().slice(0, 10),
    files: named.map((file) => basename(file)),
    onProgress: (what, done, of) => progress.update(`${what}: ${done} of ${of}`),
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
};
