import { describeProblem, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import type { FilePlace, YamlFile } from './pack-yaml.js';

/** The files a pack was read from, by what they hold. */
export interface PackSources {
  fileOf(problem: PackProblem): YamlFile | undefined;
}

/** Shows problems as a compiler does: code, file, line, column, the line with a caret, and what to write instead. */
export function reportProblems(problems: readonly PackProblem[], sources: PackSources): string {
  return problems.map((problem) => reportProblem(problem, sources)).join('\n');
}

function reportProblem(problem: PackProblem, sources: PackSources): string {
  const file = sources.fileOf(problem);
  if (!file) return `${describeProblem(problem)}\n`;
  return formatProblem(problem, file.path, file.locate(problem.place));
}

/** One problem at one place in a file. */
export function formatProblem(
  problem: { readonly code: string; readonly message: string; readonly advice: string },
  path: string,
  place: FilePlace,
): string {
  const number = String(place.line);
  const margin = ' '.repeat(number.length);
  // Tabs stay tabs, so that the caret stands right whatever their width is.
  const lead = place.text.slice(0, place.column - 1).replace(/[^\t]/g, ' ');
  return [
    `error[${problem.code}]: ${problem.message}`,
    `${margin}--> ${path}:${place.line}:${place.column}`,
    `${margin} |`,
    `${number} | ${place.text}`,
    `${margin} | ${lead}${'^'.repeat(place.length)}`,
    `${margin} = help: ${problem.advice}`,
    '',
  ].join('\n');
}
