import { reportProblems } from '../../adapters/packs/pack-report.js';
import { readSuppressions, readTags } from '../../adapters/packs/rules-data.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { lintPack } from '../../rule-authoring/lint/lint-pack.js';
import { printProblems } from './print-problems.js';
import { openPack, type RulesArgs, type RulesIo, readViews } from './rules-io.js';

/** Lints the packs named, else core: files, schema, patterns, tags, examples. Exit code 0 clean, 1 with problems. */
export function lintRules(args: RulesArgs, io: RulesIo): number {
  try {
    const { loaded } = openPack(args, io);
    const options = { tags: readTags(), suppressions: readSuppressions(), readViews };
    const problems = lintPack(loaded.pack, options, loaded.named);
    return printProblems(problems, reportProblems(problems, loaded.sources), `${loaded.named.length} rules`, args, io);
  } catch (error) {
    if (!(error instanceof PackError)) throw error;
    return printProblems(error.problems, error.message, 'the pack', args, io);
  }
}
