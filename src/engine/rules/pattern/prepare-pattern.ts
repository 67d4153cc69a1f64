import type { Alternative } from '../prefilter/literal-set.js';
import { requiredLiterals } from '../prefilter/required-literals.js';
import { checkPattern } from './check-pattern.js';
import { foldPattern } from './fold-pattern.js';
import { countPropertyClasses, measurePattern } from './measure-pattern.js';
import { parsePattern, type WordLookup } from './parse-pattern.js';
import type { PatternProblem } from './pattern-node.js';
import { printPattern } from './print-pattern.js';
import { requiredScripts, type ScriptMask } from './scripts.js';

/** `raw` patterns read the input as it was written; `folded` ones read every other view. */
export type PatternForm = 'raw' | 'folded';

/** A pattern ready for the compiler and the prefilter. */
export interface PreparedPattern {
  readonly form: PatternForm;
  /** RE2 source of the exact pattern. */
  readonly source: string;
  /** RE2 source that occurs at least wherever `source` does, for sets; only of a pattern without `alternatives`. */
  readonly relaxed?: string | undefined;
  /**
   * RE2 source that occurs at least wherever `source` does and compiles far faster: matched first. Only of a pattern that is
   * slow to compile.
   */
  readonly screen?: string | undefined;
  /** Longest match in UTF-16 code units; may be infinite. */
  readonly longest: number;
  /** Script families that every match holds. */
  readonly scripts: ScriptMask;
  /** The literals that a match must hold; empty for none. */
  readonly alternatives: readonly Alternative[];
}

export type PrepareResult =
  | { readonly ok: true; readonly pattern: PreparedPattern }
  | { readonly ok: false; readonly problems: readonly PatternProblem[] };

/** A pattern with more copies of property classes takes 20 to 100 ms to compile, and as many as 60 of them megabytes. */
const MAX_PROPERTY_CLASSES = 8;

/** Parses, checks and folds an authored pattern, and extracts its required literals. */
export function preparePattern(source: string, form: PatternForm, words: WordLookup): PrepareResult {
  const parsed = parsePattern(source, words);
  if (!parsed.ok) return { ok: false, problems: [parsed.problem] };
  const problems: PatternProblem[] = [];
  const report = (problem: PatternProblem): void => void problems.push(problem);
  checkPattern(parsed.node, source.length, report);
  const node = form === 'raw' ? parsed.node : foldPattern(parsed.node, report);
  if (problems.length > 0) return { ok: false, problems };
  const separators = form === 'folded';
  const alternatives = requiredLiterals(node, form === 'raw');
  const relaxed = printPattern(node, { separators, relaxed: true });
  const isSlow = countPropertyClasses(node) > MAX_PROPERTY_CLASSES;
  return {
    ok: true,
    pattern: {
      form,
      source: printPattern(node, { separators, relaxed: false }),
      ...(alternatives.length === 0 ? { relaxed } : {}),
      ...(isSlow ? { screen: relaxed } : {}),
      longest: measurePattern(node).longest,
      scripts: requiredScripts(node),
      alternatives,
    },
  };
}
