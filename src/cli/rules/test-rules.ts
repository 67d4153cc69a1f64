import { reportProblems } from '../../adapters/packs/pack-report.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { testPack } from '../../rule-authoring/test-pack.js';
import { printProblems } from './print-problems.js';
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
