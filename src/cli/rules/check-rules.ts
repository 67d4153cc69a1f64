import { reportProblems } from '../../adapters/packs/pack-report.js';
import { readSuppressions, readTags } from '../../adapters/packs/rules-data.js';
import { PackError, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import { lintPack } from '../../rule-authoring/lint/lint-pack.js';
import { testPack } from '../../rule-authoring/test-pack.js';
import { openPack, type RulesArgs, type RulesIo, readViews } from './rules-io.js';

export interface TestArgs extends RulesArgs {
  /** Test only this rule, or this family. */
  readonly rule?: string | undefined;
}

/** Runs the examples of the packs named, else of core. Exit code 0 when all hold, 1 when not. */
export function testRules(args: TestArgs, io: RulesIo): number {
  try {
    const { loaded, compiled } = openPack(args, io);
    const wanted = args.rule;
    const rules = loaded.named.filter(({ id }) => wanted === undefined || id === wanted || id.startsWith(`${wanted}.`));
    const problems = testPack(loaded.pack, compiled, readViews, rules);
    const examples = rules.flatMap((rule) => Object.values(rule.examples).flat()).length;
    const what = `${rules.length} rules, ${examples} examples`;
    return printProblems(problems, reportProblems(problems, loaded.sources), what, args, io);
  } catch (error) {
    if (!(error instanceof PackError)) throw error;
    return printProblems(error.problems, error.message, 'the pack', args, io);
  }
}

/** Prints problems, or that there are none; gives the exit code. */
function printProblems(
  problems: readonly PackProblem[],
  report: string,
  what: string,
  args: RulesArgs,
  io: RulesIo,
): number {
  if (args.json) io.out(`${JSON.stringify({ problems }, null, 2)}\n`);
  else if (problems.length === 0) io.out(`${io.paint.green('ok')} ${what}\n`);
  else
    io.out(`${report}\n${io.paint.red(`${problems.length} problem${problems.length === 1 ? '' : 's'}`)} in ${what}\n`);
  return problems.length === 0 ? 0 : 1;
}

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
