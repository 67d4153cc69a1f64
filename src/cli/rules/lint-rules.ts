import { reportProblems } from '../../adapters/packs/pack-report.js';
import { readTags } from '../../adapters/packs/pack-tags.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { lintPack } from '../../rule-authoring/lint-pack.js';
import { printProblems } from './print-problems.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

/** Lints the packs named, else core: files, schema, patterns, tags, examples. Exit code 0 clean, 1 with problems. */
export const lintRules = (args: RulesArgs, io: RulesIo): number => {
  try {
    const { loaded } = openPack(args, io);
    const tags = readTags();
    const problems = lintPack(loaded.named, { tags });
    return printProblems(problems, reportProblems(problems, loaded.sources), `${loaded.named.length} rules`, args, io);
  } catch (error) {
    if (!(error instanceof PackError)) throw error;
    return printProblems(error.problems, error.message, 'the pack', args, io);
  }
};
