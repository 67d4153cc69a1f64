import type { PackProblem } from '../../engine/rules/pack/pack-error.js';
import type { RulesArgs, RulesIo } from './rules-io.js';

/** Prints problems, or that there are none; gives the exit code. */
export function printProblems(
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
