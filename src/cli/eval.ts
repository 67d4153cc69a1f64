import { basename } from 'node:path';
import { Command } from 'commander';
import { evaluationPage } from '../evaluation/html/evaluation-page.js';
import { changedFromRecord, changedVerdicts, type VerdictChanges } from '../evaluation/report/changed-verdicts.js';
import { evaluationMarkdown, evaluationText } from '../evaluation/report/evaluation-text.js';
import { runEvaluation } from '../evaluation/run-evaluation.js';
import { type Screener, scoreTexts } from '../evaluation/scoring/score-texts.js';
import { CliError } from './cli-error.js';
import { type EngineFlags, screenerOf, screenerWith, withScreenerFlags } from './engine-flags.js';
import { type RowFlags, readRows, shareOf, withRowFlags } from './row-flags.js';
import { progressLine } from './terminal.js';
import { writeReport } from './text-files.js';

interface EvalFlags extends Omit<EngineFlags, 'json'>, RowFlags {
  readonly json?: string | true;
  readonly md?: string;
  readonly html?: string;
  readonly baseline?: string;
  readonly shadow?: boolean;
  readonly rulesThreshold?: number;
  readonly mlThreshold?: string;
}

function changesText(changes: VerdictChanges, than: string): string {
  const lines = changes.changes.map(
    ({ id, label, before, after, rule }) =>
      `  ${before} -> ${after}  ${label ?? 'unlabelled'}  ${id}${rule === null ? '' : `  ${rule}`}`,
  );
  return `Against ${than}: ${changes.compared} texts compared, ${changes.newlyBlocked} newly blocked, ${changes.newlyAllowed} newly allowed; attacks found ${changes.gainedAttacks >= 0 ? '+' : ''}${changes.gainedAttacks}, false positives ${changes.gainedFalseAlarms >= 0 ? '+' : ''}${changes.gainedFalseAlarms}
${lines.join('\n')}${lines.length > 0 ? '\n' : ''}`;
}

function numberOrName(value: string | undefined): number | string | undefined {
  return value === undefined || Number.isNaN(Number(value)) ? value : Number(value);
}

async function runEval(files: readonly string[], flags: EvalFlags): Promise<void> {
  const { texts, leftOut } = await readRows(files, flags);
  const { json, ...engineFlags } = flags;
  const screener: Screener = {
    ...screenerOf(engineFlags),
    rulesThreshold: flags.rulesThreshold,
    modelThreshold: numberOrName(flags.mlThreshold),
  };
  const progress = progressLine(process.stderr);
  const onProgress = (what: string, done: number): void => progress.update(`${what}: ${done} of ${texts.length} texts`);
  if (!flags.shadow && texts.every(({ label }) => label === undefined))
    throw new CliError('No text has a label. Name its field with --label-field, or use --shadow for records alone.');
  const facts = { date: new Date().toISOString().slice(0, 10), files: files.map((file) => basename(file)), leftOut };
  const { evaluation, scored } = await runEvaluation(texts, screener, facts, { onProgress });
  const old =
    flags.baseline === undefined
      ? undefined
      : await scoreTexts(texts, screenerWith(screener, flags.baseline), { onProgress });
  progress.clear();
  const changes = old ? changedVerdicts(scored, old) : flags.shadow ? changedFromRecord(scored) : undefined;
  const whole = changes ? { ...evaluation, changes } : evaluation;
  if (typeof json === 'string') await writeReport(json, `${JSON.stringify(whole, null, 2)}\n`);
  if (flags.md !== undefined) await writeReport(flags.md, evaluationMarkdown(evaluation));
  if (flags.html !== undefined) await writeReport(flags.html, evaluationPage(evaluation, scored));
  if (json === true) {
    process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
    return;
  }
  if (!flags.shadow || evaluation.rows.judged > 0) process.stdout.write(evaluationText(evaluation));
  if (changes) process.stdout.write(`\n${changesText(changes, flags.baseline ?? 'the recorded verdicts')}`);
}

/** `portcullis eval`: how well rules and model do on labelled texts. */
export function evalCommand(): Command {
  return withRowFlags(withScreenerFlags(new Command('eval')))
    .description('measure rules and model on labelled texts: JSON Lines, CSV, Parquet, evidence exports')
    .argument('<files...>', 'files or patterns')
    .option('--json [file]', 'write every figure and every wrong text as JSON; without a file to standard output')
    .option('--md <file>', 'write the figures as Markdown')
    .option('--html <file>', 'write a self-contained report with plots and the texts decided wrongly')
    .option('--baseline <old>', 'a pack, overlay or model folder to compare with; `core` is the pack of the package')
    .option('--shadow', 'compare with the verdicts recorded in an evidence export')
    .option('--rules-threshold <score>', 'the rules block at or above it', shareOf('--rules-threshold'))
    .option('--ml-threshold <probability>', 'the model blocks at or above it; a number or an operating point')
    .action(runEval);
}
