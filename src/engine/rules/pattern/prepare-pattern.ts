import type { Alternative } from '../prefilter/literal-set.js';
import { requiredLiterals } from '../prefilter/required-literals.js';
import { foldPattern } from './fold-pattern.js';
import { measurePattern } from './measure-pattern.js';
import { parsePattern, type WordLookup } from './parse-pattern.js';
import { childrenOf, type PatternNode, type PatternProblem } from './pattern-node.js';
import { printPattern } from './print-pattern.js';
import { requiredScripts, type ScriptMask } from './scripts.js';

/** `raw` patterns read the input as it was written; `folded` ones read every other view. */
export type PatternForm = 'raw' | 'folded';

/** A pattern ready for the matcher and the prefilter. */
export interface PreparedPattern {
  readonly form: PatternForm;
  /** RE2 source of the exact pattern. */
  readonly source: string;
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

type ReadResult = { readonly ok: true; readonly node: PatternNode } | Extract<PrepareResult, { readonly ok: false }>;

/** Parses, checks and folds an authored pattern. */
export function readPattern(source: string, form: PatternForm, words: WordLookup): ReadResult {
  const parsed = parsePattern(source, words);
  if (!parsed.ok) return { ok: false, problems: [parsed.problem] };
  const problems: PatternProblem[] = [];
  const report = (problem: PatternProblem): void => void problems.push(problem);
  checkPattern(parsed.node, source.length, report);
  const node = form === 'raw' ? parsed.node : foldPattern(parsed.node, report);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, node };
}

/** Reads an authored pattern, and extracts its required literals. */
export function preparePattern(source: string, form: PatternForm, words: WordLookup): PrepareResult {
  const read = readPattern(source, form, words);
  if (!read.ok) return read;
  const { node } = read;
  return {
    ok: true,
    pattern: {
      form,
      source: printPattern(node, form === 'folded'),
      longest: measurePattern(node).longest,
      scripts: requiredScripts(node),
      alternatives: requiredLiterals(node, form === 'raw'),
    },
  };
}

/** The longest counted repeat inside a pattern; wider gaps belong in a `sequence`, where they cost nothing. */
const MAX_COUNT = 12;
/** The longest exact repeat (`{32}`), e.g. of hex digits. */
const MAX_EXACT = 64;

/** Reports what would make a pattern match nothing, everything, or too slowly. */
function checkPattern(node: PatternNode, length: number, report: (problem: PatternProblem) => void): void {
  checkRepeats(node, report);
  if (measurePattern(node).shortest === 0) {
    report({
      code: 'PACK024',
      message: 'This pattern matches the empty text.',
      advice: 'Make at least one part of it required.',
      at: 0,
      length,
    });
  }
}

function checkRepeats(node: PatternNode, report: (problem: PatternProblem) => void): void {
  if (node.kind !== 'words') for (const child of childrenOf(node)) checkRepeats(child, report);
  if (node.kind !== 'repeat') return;
  const unbounded = node.max === Number.POSITIVE_INFINITY;
  if (isDot(node.of) && unbounded) {
    report({
      code: 'PACK023',
      message: 'The pattern has a gap of unlimited length.',
      advice: 'Use `sequence` with `gap`, or a count of at most 12.',
      at: node.at,
      length: 2,
    });
  } else if (unbounded ? node.min > MAX_COUNT : node.max > (node.min === node.max ? MAX_EXACT : MAX_COUNT)) {
    report({
      code: 'PACK023',
      message: `The pattern repeats something more than ${MAX_COUNT} times.`,
      advice: 'Use `sequence` with `gap`: counts this large make the program too big.',
      at: node.at,
      length: 1,
    });
  }
}

const isDot = (node: PatternNode): boolean =>
  node.kind === 'dot' || (node.kind === 'group' && node.of !== undefined && isDot(node.of));
