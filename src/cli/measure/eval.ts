import { basename } from 'node:path';
import { Command } from 'commander';
import { visibleText } from '../../engine/text/visible-text.js';
import { evaluationPage } from '../../evaluation/html/evaluation-page.js';
import { changedFromRecord, changedVerdicts, type VerdictChanges } from '../../evaluation/report/changed-verdicts.js';
import type { Evaluation, WrongText } from '../../evaluation/report/evaluation.js';
import { evaluationMarkdown, evaluationText } from '../../evaluation/report/evaluation-text.js';
import { runEvaluation } from '../../evaluation/run-evaluation.js';
import { type ScoringSetup, scoreTexts } from '../../evaluation/scoring/score-texts.js';
import { type EngineFlags, setupOfFlags, setupWith, withScreenerFlags } from '../engine-flags.js';
import { writeReport } from '../screen/text-files.js';
import { CliError, markedText, paintFor, progressCounter } from '../terminal.js';
import { parseCount, parseShare, type RowFlags, readRows, withRowFlags } from './row-flags.js';

interface EvalFlags extends Omit<EngineFlags, 'json'>, RowFlags {
  readonly json?: string | true;
  readonly md?: string;
  readonly html?: string;
  readonly baseline?: string;
  readonly shadow?: boolean;
  readonly rulesThreshold?: number;
  readonly mlThreshold?: string;
  readonly show?: number;
}

function changesText(changes: VerdictChanges, than: string): string {
  const lines = changes.changes.map(
    ({ id, label, before, after, rule }) =>
      `  ${before} -> ${after}  ${label ?? 'unlabelled'}  ${id}${rule === null ? '' : `  ${rule}`}`,
  );
  return `Against ${than}: ${changes.compared} texts compared, ${changes.newlyBlocked} newly blocked, ${changes.newlyAllowed} newly allowed; attacks found ${changes.gainedAttacks >= 0 ? '+' : ''}${changes.gainedAttacks}, false positives ${changes.gainedFalseAlarms >= 0 ? '+' : ''}${changes.gainedFalseAlarms}
${lines.join('\n')}${lines.length > 0 ? '\n' : ''}`;
}

/** Characters shown on each side of a finding. */
const AROUND = 100;

function wrongTexts({ missed, wronglyBlocked }: Evaluation, show: number | undefined): string {
  if (show === undefined)
    return missed.length + wronglyBlocked.length > 0
      ? '--show 10 prints some of them, --html FILE writes a report with all.\n'
      : '';
  const paint = paintFor(process.stdout);
  const list = (title: string, texts: readonly WrongText[]): string => {
    const shown = texts.slice(0, show).map((text) => {
      const model = text.probability === null ? '' : `, model ${text.probability.toFixed(3)}`;
      const rules = `rules ${text.rulesScore.toFixed(3)}${text.rule === null ? '' : ` ${text.rule}`}`;
      const head = `${paint.bold(visibleText(text.id))}  ${paint.dim(visibleText([text.source, text.language].join(', ')))}  ${rules}${model}`;
      const body = markedText(text.text, text.spans, { paint, around: AROUND }).replaceAll('\n', '\n    ');
      return `  ${head}\n    ${body}\n`;
    });
    const rest = texts.length > shown.length ? `  … and ${texts.length - shown.length} more\n` : '';
    return `\n${paint.bold(`${title}: ${texts.length}`)}\n${shown.join('\n')}${rest}`;
  };
  return list('Attacks missed', missed) + list('Benign texts blocked', wronglyBlocked);
}

async function runEval(files: readonly string[], flags: EvalFlags): Promise<void> {
  const { texts, leftOut } = await readRows(files, flags);
  const { json, ...engineFlags } = flags;
  const { mlThreshold = flags.operatingPoint } = flags;
  const setup: ScoringSetup = {
    ...setupOfFlags(engineFlags),
    rulesThreshold: flags.rulesThreshold,
    modelThreshold: Number.isNaN(Number(mlThreshold)) ? mlThreshold : Number(mlThreshold),
  };
  const progress = progressCounter(process.stderr);
  const onProgress = (what: string, done: number): void => progress.update(`texts, ${what}`, done, texts.length);
  if (!flags.shadow && texts.every(({ label }) => label === undefined))
    throw new CliError('No text has a label. Name its field with --label-field, or use --shadow for records alone.');
  const facts = { date: new Date().toISOString().slice(0, 10), files: files.map((file) => basename(file)), leftOut };
  const { evaluation, scored } = await runEvaluation(texts, setup, facts, { onProgress });
  const old =
    flags.baseline === undefined
      ? undefined
      : await scoreTexts(texts, setupWith(setup, flags.baseline), { onProgress });
  progress.clear();
  const changes = old ? changedVerdicts(scored, old) : flags.shadow ? changedFromRecord(scored) : undefined;
  const whole = changes ? { ...evaluation, changes } : evaluation;
  if (typeof json === 'string') await writeReport(json, `${JSON.stringify(whole, null, 2)}\n`);
  if (flags.md !== undefined) await writeReport(flags.md, evaluationMarkdown(evaluation));
  if (flags.html !== undefined) await writeReport(flags.html, evaluationPage(evaluation, scored));
  if (json === true) {
    process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
    for (const warning of evaluation.warnings) process.stderr.write(`warning: ${warning}\n`);
    return;
  }
  if (!flags.shadow || evaluation.rows.judged > 0) {
    process.stdout.write(evaluationText(evaluation));
    process.stdout.write(wrongTexts(evaluation, flags.show));
  }
  if (changes) process.stdout.write(`\n${changesText(changes, flags.baseline ?? 'the recorded verdicts')}`);
}

/** `portcullis eval`: measures rules and model on labelled texts. */
export function evalCommand(): Command {
  return withRowFlags(withScreenerFlags(new Command('eval')))
    .description('measure rules and model on labelled texts: JSON Lines, CSV, Parquet, evidence exports')
    .argument('<files...>', 'files or patterns')
    .option('--json [file]', 'write all figures and misclassified texts as JSON to a file (default: standard output)')
    .option('--show <n>', 'print this many false positives and false negatives', parseCount('--show'))
    .option('--md <file>', 'write the figures as Markdown')
    .option('--html <file>', 'write a self-contained report with plots and the misclassified texts')
    .option('--baseline <old>', 'a pack, overlay or model folder to compare with; `core` is the built-in pack')
    .option('--shadow', 'compare with the verdicts recorded in an evidence export')
    .option('--rules-threshold <score>', 'the rules block at or above this score', parseShare('--rules-threshold'))
    .option('--ml-threshold <probability>', 'the model blocks at or above this probability, or at an operating point')
    .action(runEval);
}
