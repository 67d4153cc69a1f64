import { Command } from 'commander';
import { withPackOptions } from '../engine-flags.js';
import { countOf, shareOf, withRowFlags } from '../row-flags.js';
import { readText } from '../text-files.js';
import { type DiffArgs, diffRules } from './diff-rules.js';
import { explainText } from './explain-text.js';
import { lintRules } from './lint-rules.js';
import { type ListArgs, listRules } from './list-rules.js';
import { writeNewRule } from './new-rule.js';
import { type RulesArgs, terminalIo } from './rules-io.js';
import { showRule } from './show-rule.js';
import { type SuggestArgs, suggestRules } from './suggest-rules.js';
import { testRules } from './test-rules.js';

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const withPackFlags = (command: Command): Command =>
  withPackOptions(command)
    .option('--overlay <file>', 'a local overlay file; may be repeated', collect)
    .option('--json', 'print JSON');

const end = (code: number): void => {
  process.exitCode = code;
};

/** `portcullis rules list|show|lint|test|explain|new|suggest|diff`. */
export function rulesCommand(): Command {
  const rules = new Command('rules').description('list, show, check, test, write and compare rules');
  withPackFlags(rules.command('list'))
    .description('the rules with their scores')
    .option('--family <name>', 'only this family')
    .option('--language <tag>', 'only rules for this language')
    .action((args: ListArgs) => end(listRules(args, terminalIo())));
  withPackFlags(rules.command('show <id>'))
    .description('one rule with its examples')
    .action((id: string, args: RulesArgs) => end(showRule(id, args, terminalIo())));
  withPackFlags(rules.command('lint [folder]'))
    .description('check files, patterns, tags and examples')
    .action((folder: string | undefined, args: RulesArgs) => end(lintRules(withFolder(folder, args), terminalIo())));
  withPackFlags(rules.command('test [rule]'))
    .description('run the examples of all rules, of a family or of one rule')
    .action((rule: string | undefined, args: RulesArgs) => end(testRules({ ...args, rule }, terminalIo())));
  withPackFlags(rules.command('explain [text]'))
    .description('which views a text gives, which rules fire and which nearly do; - reads standard input')
    .action(async (text: string | undefined, args: RulesArgs) =>
      end(explainText(await readText({ argument: text, file: undefined }), args, terminalIo())),
    );
  withPackFlags(rules.command('new <id>'))
    .description('write the scaffold of a rule into --pack FOLDER, with examples, in shadow')
    .action((id: string, args: RulesArgs) => end(writeNewRule(id, args, terminalIo())));
  withRowFlags(withPackFlags(rules.command('suggest <files...>')))
    .description('runs of words that missed attacks have and benign texts hardly, and a draft rule of them')
    .option('--top <n>', 'suggestions at most', countOf('--top'), 12)
    .option('--least <n>', 'families of missed attacks that each must add', countOf('--least'), 5)
    .option('--max-fpr <share>', 'of the benign families that each may occur in', shareOf('--max-fpr'), 0.0005)
    .option('--id <id>', "the draft's id", 'draft.suggested')
    .option('--out <file>', 'write the draft there (YAML)')
    .action(async (files: readonly string[], args: SuggestArgs) => end(await suggestRules(files, args, terminalIo())));
  withRowFlags(rules.command('diff <before> <after>'))
    .description(
      'which verdicts change from one pack or overlay (*.yaml) to another; `core` is the pack of the package, and others lie on top of it',
    )
    .requiredOption('--on <files...>', 'texts: JSON Lines, CSV, Parquet, evidence exports')
    .option('--no-core', 'packs other than `core` by themselves, without the core rules')
    .option('--show <n>', 'changed texts to show', countOf('--show'), 20)
    .option('--json', 'print JSON')
    .action(async (before: string, after: string, args: DiffArgs) =>
      end(await diffRules(before, after, args, terminalIo())),
    );
  return rules;
}

const withFolder = (folder: string | undefined, args: RulesArgs): RulesArgs =>
  folder === undefined ? args : { ...args, pack: [...(args.pack ?? []), folder] };
