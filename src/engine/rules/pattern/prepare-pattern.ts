import type { LiteralWay } from '../prefilter/clause.js';
import { checkPattern } from './check-pattern.js';
import { countedLength } from './counted-length.js';
import { type Fold, foldPattern } from './fold-pattern.js';
import { parsePattern, type WordLookup } from './parse-pattern.js';
import { patternFacts } from './pattern-facts.js';
import { patternLiterals } from './pattern-literals.js';
import type { PatternProblem } from './pattern-node.js';
import { patternScripts } from './pattern-scripts.js';
import { printPattern } from './print-pattern.js';
import type { ScriptMask } from './scripts.js';

/** `raw` patterns read the input as it was written; `folded` ones read every other view. */
export type PatternForm = 'raw' | 'folded';

/** A pattern ready for the compiler. */
export interface PreparedPattern {
  readonly form: PatternForm;
  /** RE2 source of the exact pattern. */
  readonly source: string;
  /** RE2 source that occurs at least wherever `source` does, for sets; only of a pattern without `literals`. */
  readonly relaxed?: string | undefined;
  /** Longest match in UTF-16 code units; may be infinite. */
  readonly longest: number;
  /** The most that a match counts; see `countedLength`. */
  readonly counted: number;
  /** Script families that every match holds. */
  readonly scripts: ScriptMask;
  /** The literals that a match holds. Empty: nothing is sure. */
  readonly literals: readonly LiteralWay[];
}

/** Patterns of one pack made ready beforehand, by `preparedKey`. Holds for the word lists that it was made with. */
export type PreparedPatterns = ReadonlyMap<string, PreparedPattern>;

export type PrepareResult =
  | { readonly ok: true; readonly pattern: PreparedPattern }
  | { readonly ok: false; readonly problems: readonly PatternProblem[] };

/** Parses, checks and folds an authored pattern. */
export function preparePattern(source: string, form: PatternForm, words: WordLookup, fold: Fold): PrepareResult {
  const parsed = parsePattern(source, words);
  if (!parsed.ok) return { ok: false, problems: [parsed.problem] };
  const problems: PatternProblem[] = [];
  const report = (problem: PatternProblem): void => void problems.push(problem);
  checkPattern(parsed.node, source.length, report);
  const node = form === 'raw' ? parsed.node : foldPattern(parsed.node, fold, report);
  if (problems.length > 0) return { ok: false, problems };
  const separators = form === 'folded';
  const literals = patternLiterals(node, form === 'raw');
  return {
    ok: true,
    pattern: {
      form,
      source: printPattern(node, { separators, relaxed: false }),
      ...(literals.length === 0 ? { relaxed: printPattern(node, { separators, relaxed: true }) } : {}),
      longest: patternFacts(node).longest,
      counted: countedLength(node),
      scripts: patternScripts(node),
      literals,
    },
  };
}
