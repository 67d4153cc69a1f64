import { measurePattern } from './measure-pattern.js';
import type { PatternNode, PatternProblem } from './pattern-node.js';

/** The longest counted repeat inside a pattern; wider gaps belong in a `sequence`, where they cost nothing. */
const MAX_COUNT = 12;
/** The longest exact repeat (`{32}`), e.g. of hex digits. */
const MAX_EXACT = 64;

/** Reports what would make a pattern match nothing, everything, or too slowly. */
export function checkPattern(node: PatternNode, length: number, report: (problem: PatternProblem) => void): void {
  checkRepeats(node, report);
  if (measurePattern(node).shortest === 0) {
    report({
      code: 'PACK024',
      message: 'This pattern matches the empty text.',
      advice: 'Make at least one part of it necessary.',
      at: 0,
      length,
    });
  }
}

function checkRepeats(node: PatternNode, report: (problem: PatternProblem) => void): void {
  if (node.kind === 'sequence') for (const part of node.parts) checkRepeats(part, report);
  if (node.kind === 'choice') for (const option of node.options) checkRepeats(option, report);
  if (node.kind === 'group' && node.of) checkRepeats(node.of, report);
  if (node.kind !== 'repeat') return;
  checkRepeats(node.of, report);
  const unbounded = node.max === Number.POSITIVE_INFINITY;
  if (isDot(node.of) && unbounded) {
    report({
      code: 'PACK023',
      message: 'A gap of any length.',
      advice: 'Use `sequence` with `gap`, or a count of at most 12.',
      at: node.at,
      length: 2,
    });
  } else if (unbounded ? node.min > MAX_COUNT : node.max > (node.min === node.max ? MAX_EXACT : MAX_COUNT)) {
    report({
      code: 'PACK023',
      message: `A counted repeat over ${MAX_COUNT}.`,
      advice: 'Use `sequence` with `gap`: counts this wide blow the automaton up.',
      at: node.at,
      length: 1,
    });
  }
}

const isDot = (node: PatternNode): boolean =>
  node.kind === 'dot' || (node.kind === 'group' && node.of !== undefined && isDot(node.of));
