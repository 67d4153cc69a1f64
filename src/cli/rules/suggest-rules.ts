import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { readLanguages } from '../../adapters/packs/pack-folder.js';
import { alignedTable } from '../../evaluation/report/text-format.js';
import { splitRows } from '../../evaluation/rows/split-rows.js';
import { scoreTexts } from '../../evaluation/scoring/score-texts.js';
import { type NewLanguage, newLanguage } from '../../rule-authoring/new-language.js';
import { newRule } from '../../rule-authoring/new-rule.js';
import { type SuggestLimits, suggestGrams, suggestRule } from '../../rule-authoring/suggest-rule.js';
import { type RowFlags, readRows } from '../measure/row-flags.js';
import { describeError, writeReport } from '../screen/text-files.js';
import { CliError, progressCounter } from '../terminal.js';
import type { RulesArgs, RulesIo } from './rules-io.js';

export interface SuggestArgs extends RulesArgs, RowFlags, SuggestLimits {
  readonly id: string;
  readonly out?: string;
}

/** Suggests runs of words from the attacks that the rules miss, and drafts a rule of them. Exit code 0. @throws CliError; TuningError */
export async function suggestRules(
  files: readonly string[],
  args: SuggestArgs,
  { out }: Pick<RulesIo, 'out'>,
): Promise<number> {
  const { texts } = await readRows(files, args);
  const rows = splitRows(texts, 0, 1).choose;
  const progress = progressCounter(process.stderr);
  const scored = await scoreTexts(
    rows,
    { packs: args.pack, overlays: args.overlay, model: false },
    { onProgress: (_, done) => progress.update('texts, rules', done, rows.length) },
  );
  progress.clear();
  const missed = rows.filter(
    ({ label }, i) => label === 'injection' && (scored.texts[i]?.rulesScore ?? 0) < scored.rulesThreshold,
  );
  const benign = rows.filter(({ label }) => label === 'benign');
  if (missed.length === 0 || benign.length === 0)
    throw new CliError(
      `Suggesting rules needs missed attacks and benign texts; found ${missed.length} and ${benign.length}.`,
    );
  const grams = suggestGrams(missed, benign, { top: args.top, least: args.least, maxFpr: args.maxFpr });
  const draft = grams.length === 0 ? undefined : suggestRule(args.id, grams, missed, benign);
  if (args.out !== undefined && draft !== undefined) await writeReport(args.out, draft);
  const counts = { missed: missed.length, benign: benign.length };
  if (args.json) {
    out(`${JSON.stringify({ schema: 'portcullis.suggestions/1', ...counts, grams, draft: draft ?? null }, null, 2)}\n`);
    return 0;
  }
  out(`${missed.length} attacks missed, ${benign.length} benign texts; counts are of families of near duplicates\n\n`);
  const table = [
    ['words', 'missed attacks', 'new ones', 'benign', 'log-odds', 'z'],
    ...grams.map(({ gram, attacks, fresh, benign: alarms, logOdds, z }) => [
      gram,
      String(attacks),
      String(fresh),
      String(alarms),
      logOdds.toFixed(2),
      z.toFixed(1),
    ]),
  ];
  out(draft === undefined ? 'No run of words tells them apart.\n' : `${alignedTable(table)}\n`);
  if (draft !== undefined) out(args.out === undefined ? `\n${draft}` : `\n${args.out}\n`);
  return 0;
}

/** Writes the scaffold of a rule into a pack folder, and `pack.yaml` if it is missing. Exit code 0. @throws CliError; TuningError */
export function writeNewRule(id: string, { pack }: RulesArgs, { out }: Pick<RulesIo, 'out'>): number {
  const folder = pack?.at(-1);
  if (folder === undefined)
    throw new CliError('Name the pack to write to: --pack FOLDER. A new folder becomes a pack.');
  const yaml = newRule(id);
  const file = `${join(folder, ...id.split('.'))}.yaml`;
  const head = join(folder, 'pack.yaml');
  if (existsSync(file)) throw new CliError(`${file} already exists.`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(head)) {
      const name = basename(resolve(folder));
      const content = { name, version: '0.1.0', description: 'Our own rules.', licence: 'UNLICENSED', threshold: 0.5 };
      writeFileSync(head, stringify(content), { flag: 'wx' });
      out(`${head}\n`);
    }
    writeFileSync(file, yaml, { flag: 'wx' });
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${describeError(error)}.`);
  }
  out(
    `${file}\nNext: edit it, then "portcullis rules lint ${folder}" and "portcullis rules test ${id} --pack ${folder}".\n`,
  );
  return 0;
}

/** Writes the scaffold of a language into a pack folder. Exit code 0. @throws CliError; TuningError; PackError */
export function writeNewLanguage(
  code: string,
  { pack, ...language }: RulesArgs & Omit<NewLanguage, 'code'>,
  { out }: Pick<RulesIo, 'out'>,
): number {
  const folder = pack?.at(-1);
  if (folder === undefined) throw new CliError('Name the pack to write to: --pack FOLDER, such as rules/core.');
  const yaml = newLanguage({ ...language, code }, readLanguages(folder));
  const file = join(folder, 'languages', `${code}.yaml`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, yaml, { flag: 'wx' });
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${describeError(error)}.`);
  }
  out(`${file}\nNext: fill its lists and examples; "portcullis rules lint ${folder}" lists what is missing.\n`);
  return 0;
}
