import { readSteps } from '../../engine/rules/compiled-rule.js';
import { type PackProblem, ruleProblem } from '../../engine/rules/pack/pack-error.js';
import { measurePattern } from '../../engine/rules/pattern/measure-pattern.js';
import { parsePattern, type WordLookup } from '../../engine/rules/pattern/parse-pattern.js';
import { childrenOf, type PatternNode, rememberChoices } from '../../engine/rules/pattern/pattern-node.js';
import type { Rule } from '../../engine/rules/types.js';

/** The widest run of gaps with no literal between them; one gap may be as wide (PACK023). */
const MAX_GAP = 12;
/** Alternatives that a pattern may list itself; longer lists are easier to read and to share as a word list. */
const MAX_ALTERNATIVES = 25;

/** Reports chains of gaps that are together wider than one gap may be, and long alternations written inline. */
export function checkPatternShapes(rule: Rule, words: WordLookup): readonly PackProblem[] {
  return [...readSteps(rule.match).steps, { path: ['except'], patterns: rule.except }].flatMap(({ path, patterns }) =>
    patterns.flatMap((source, index) => {
      const parsed = parsePattern(source, words);
      // A pattern that doesn't parse is reported when it is compiled.
      if (!parsed.ok) return [];
      const report = (code: string, message: string, advice: string) =>
        ruleProblem(rule, code, message, advice, [...path, index]);
      const gap = widestGap(parsed.node);
      const longest = longestChoice(parsed.node);
      const problems: PackProblem[] = [];
      if (gap > MAX_GAP)
        problems.push(
          report(
            'PACK038',
            `Consecutive gaps span ${gap} characters in total, with no literal between them.`,
            `Use \`sequence\` with \`gap\`, or count words; consecutive gaps may span ${MAX_GAP} characters.`,
          ),
        );
      if (longest > MAX_ALTERNATIVES)
        problems.push(
          report(
            'PACK039',
            `An alternation with ${longest} alternatives.`,
            `Move it to a word list; a pattern may list ${MAX_ALTERNATIVES}.`,
          ),
        );
      return problems;
    }),
  );
}

/** The widest run of counted gaps (`.{0,12}`, `[^x]{0,9}`) that no necessary literal interrupts, in characters. */
const widestGap = rememberChoices((node): number => {
  let widest = 0;
  let run = 0;
  for (const part of flatten(node)) {
    run += gapWidth(part) ?? 0;
    // By itself unless it is the whole: what is known of a word list stays known.
    widest = Math.max(widest, run, ...(part === node ? childrenOf(part) : [part]).map(widestGap));
    if (isAnchor(part)) run = 0;
  }
  return widest;
});

/** The parts of a sequence, those of plain groups in it included. */
function flatten(node: PatternNode): readonly PatternNode[] {
  if (node.kind === 'sequence') return node.parts.flatMap(flatten);
  if (node.kind === 'group' && node.of) return flatten(node.of);
  return node.kind === 'words' ? flatten(node.of) : [node];
}

/** The width of the gap; undefined if the node is not a gap. */
const gapWidth = rememberChoices((node): number | undefined => {
  switch (node.kind) {
    case 'repeat': {
      if (node.max <= 1) return gapWidth(node.of);
      if (!Number.isFinite(node.max) || node.min === node.max) return undefined;
      if (isAnyCharacter(node.of)) return node.max;
      const width = flatten(node.of).some(isAnchor) ? 0 : widestGap(node.of);
      return width > 0 ? width * node.max : undefined;
    }
    case 'choice': {
      const widths = node.options
        .flatMap((option) => flatten(option).map(gapWidth))
        .filter((width) => width !== undefined);
      return widths.length === 0 ? undefined : Math.max(...widths);
    }
    case 'sequence':
    case 'group':
    case 'words':
      return flatten(node).reduce<number | undefined>((sum, part) => {
        const width = gapWidth(part);
        return width === undefined ? sum : (sum ?? 0) + width;
      }, undefined);
    default:
      return undefined;
  }
});

const isAnyCharacter = (node: PatternNode): boolean => {
  const [only, ...rest] = flatten(node);
  return rest.length === 0 && (only?.kind === 'dot' || (only?.kind === 'class' && only.negated));
};

/** True when every match of the node has a literal. */
const isAnchor = rememberChoices((node): boolean => {
  switch (node.kind) {
    case 'char':
      return true;
    case 'choice':
      return node.options.every(isAnchor);
    case 'repeat':
      return node.min > 0 && isAnchor(node.of);
    case 'sequence':
    case 'group':
    case 'words':
      return measurePattern(node).shortest > 0 && childrenOf(node).some(isAnchor);
    default:
      return false;
  }
});

/** Alternatives of the longest alternation that the pattern lists itself; those of word lists don't count. */
function longestChoice(node: PatternNode): number {
  if (node.kind === 'words') return 0;
  return Math.max(node.kind === 'choice' ? node.options.length : 0, ...childrenOf(node).map(longestChoice));
}
