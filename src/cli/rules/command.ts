import { Command } from 'commander';
import { readText } from '../read-text.js';
import { explainText } from './explain-text.js';
import { lintRules } from './lint-rules.js';
import { type ListArgs, listRules } from './list-rules.js';
import { type RulesArgs, terminalIo } from './rules-io.js';
import { showRule } from './show-rule.js';
import { testRules } from './test-rules.js';

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const withPackFlags = (command: Command): Command =>
  command
    .option('--pack <folder>', 'a rule pack: folder, bundle or npm package; may be repeated', collect)
    .option('--overlay <file>', 'a local overlay file; may be repeated', collect)
    .option('--json', 'print JSON');

const end = (code: number): void => {
  process.exitCode = code;
};

/** `portcullis rules list|show|lint|test|explain`. */
export function rulesCommand(): Command {
  const rules = new Command('rules').description('list, show, check and test the rules');
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
  return rules;
}

const withFolder = (folder: string | undefined, args: RulesArgs): RulesArgs =>
  folder === undefined ? args : { ...args, pack: [folder] };
