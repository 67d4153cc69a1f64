import { Command } from 'commander';
import type { NewLanguage } from '../../rule-authoring/new-language.js';
import { collect, withPackOptions } from '../engine-flags.js';
import { parseCount, parseShare, withRowFlags } from '../measure/row-flags.js';
import { readText } from '../screen/text-files.js';
import { explainText, lintRules, testRules } from './check-rules.js';
import { type DiffArgs, diffRules } from './diff-rules.js';
import { type ListArgs, listRules, printRules, type SignArgs, showRule, signPack } from './list-rules.js';
import { type RulesArgs, terminalIo } from './rules-io.js';
import { type SuggestArgs, suggestRules, writeNewLanguage, writeNewRule } from './suggest-rules.js';

const withPackFlags = (command: Command): Command =>
  withPackOptions(command)
    .option('--overlay <file>', 'overlay file; may be repeated', collect)
    .option('--json', 'print JSON');

const end = (code: number): void => {
  process.exitCode = code;
};

/** `portcullis rules list|show|lint|test|explain|new|new-language|export|suggest|diff`. */
// Long: a declaration: one statement for each subcommand and its flags.
export function rulesCommand(): Command {
  const rules = new Command('rules').description('list, show, check, test, write and compare rules');
  withPackFlags(rules.command('list'))
    .description('list rules with their scores')
    .option('--family <name>', 'only this family')
    .option('--language <tag>', 'only rules for this language')
    .action((args: ListArgs) => end(listRules(args, terminalIo())));
  withPackFlags(rules.command('show <id>'))
    .description('show one rule with its examples')
    .action((id: string, args: RulesArgs) => end(showRule(id, args, terminalIo())));
  withPackFlags(rules.command('lint [folder]'))
    .description('lint files, patterns, tags and examples')
    .action((folder: string | undefined, args: RulesArgs) => end(lintRules(withFolder(folder, args), terminalIo())));
  withPackFlags(rules.command('test [rule]'))
    .description('run the examples of all rules, of a family or of one rule')
    .action((rule: string | undefined, args: RulesArgs) => end(testRules({ ...args, rule }, terminalIo())));
  withPackFlags(rules.command('explain [text]'))
    .description('show the views of a text, the rules that match and the near misses; "-" reads standard input')
    .action(async (text: string | undefined, args: RulesArgs) =>
      end(explainText(await readText({ argument: text, file: undefined }), args, terminalIo())),
    );
  withPackFlags(rules.command('new <id>'))
    .description('write a new shadow rule with example placeholders into --pack FOLDER')
    .action((id: string, args: RulesArgs) => end(writeNewRule(id, args, terminalIo())));
  rules
    .command('new-language <code>')
    .description('write a file with every list that a language needs into --pack FOLDER; the code is a BCP 47 tag')
    .requiredOption('--pack <folder>', 'pack folder to write to, such as rules/core', collect)
    .requiredOption('--name <name>', "the language's name in English")
    .option('--letters <class>', 'letters of its words as a character class, folded: é is e', 'a-z')
    .option('--order <name>', 'word order: verb-first or verb-last', 'verb-first')
    .option('--like <code>', 'language whose words to show as examples')
    .action((code: string, args: RulesArgs & Omit<NewLanguage, 'code'>) =>
      end(writeNewLanguage(code, args, terminalIo())),
    );
  withPackFlags(rules.command('export'))
    .description(
      'print the rules for another regex compiler: RE2 patterns with lists expanded, as JSON; or sign a pack: with --sign',
    )
    .option('--sign <key>', 'write --pack as a bundle with its signature: secret key file of `minisign -G -W`')
    .option('--out <file>', 'with --sign: the bundle (*.json); the signature goes to FILE.minisig')
    .action((args: SignArgs) => end((args.sign === undefined ? printRules : signPack)(args, terminalIo())));
  withRowFlags(withPackFlags(rules.command('suggest <files...>')))
    .description('find phrases that are common in missed attacks and rare in benign texts, and draft a rule from them')
    .option('--top <n>', 'number of phrases to suggest', parseCount('--top'), 12)
    .option(
      '--least <n>',
      'missed attacks that a phrase must add, counted in families of near duplicates',
      parseCount('--least'),
      5,
    )
    .option(
      '--max-fpr <share>',
      'largest share of benign families that a phrase may occur in',
      parseShare('--max-fpr'),
      0.0005,
    )
    .option('--id <id>', 'id of the draft', 'draft.suggested')
    .option('--out <file>', 'write the draft to a file (YAML)')
    .action(async (files: readonly string[], args: SuggestArgs) => end(await suggestRules(files, args, terminalIo())));
  withRowFlags(rules.command('diff <before> <after>'))
    .description(
      'show which verdicts change from one pack or overlay (*.yaml) to another; other packs are added to the built-in pack, `core`',
    )
    .requiredOption('--on <files...>', 'texts: JSON Lines, CSV, Parquet, evidence exports')
    .option('--no-core', 'compare the packs alone, without the core rules')
    .option('--show <n>', 'number of changed texts to show', parseCount('--show'), 20)
    .option('--json', 'print JSON')
    .action(async (before: string, after: string, args: DiffArgs) =>
      end(await diffRules(before, after, args, terminalIo())),
    );
  return rules;
}

const withFolder = (folder: string | undefined, args: RulesArgs): RulesArgs =>
  folder === undefined ? args : { ...args, pack: [...(args.pack ?? []), folder] };
