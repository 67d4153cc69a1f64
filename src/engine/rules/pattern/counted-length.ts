import type { ClassItem, PatternNode } from './pattern-node.js';

/**
 * Distances between literals are counted so that a run of characters without white space, and a run of white space,
 * counts at most this much: then `\w+` has a longest match. The count of a text is never more than the sum of the
 * counts of its parts.
 */
export const RUN_CAP = 32;

/** The most that a match of a pattern counts; infinite where an endless repeat may hold words and white space. */
export function countedLength(node: PatternNode): number {
  switch (node.kind) {
    case 'char':
      return node.text.length;
    case 'space':
      return 4;
    case 'dot':
    case 'class':
      return 2;
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + countedLength(part), 0);
    case 'choice':
      return Math.max(...node.options.map(countedLength));
    case 'group':
      return node.of ? countedLength(node.of) : 0;
    case 'words':
      return countedLength(node.of);
    case 'repeat': {
      const of = countedLength(node.of);
      if (of === 0 || node.max === 0) return 0;
      return isOneRun(node.of) ? Math.min(of * node.max, RUN_CAP) : of * node.max;
    }
    default:
      return 0;
  }
}

/** True when every match of an endless repeat of this is one run: all white space, or none. */
function isOneRun(node: PatternNode): boolean {
  if (node.kind === 'char') return true;
  if (node.kind === 'group') return node.of !== undefined && isOneRun(node.of);
  if (node.kind !== 'class') return false;
  if (node.negated) return node.items.some((item) => 'escape' in item && item.escape === '\\s');
  const spaces = node.items.map(holdsSpace);
  return !spaces.includes(true);
}

const SPACES = [9, 10, 12, 13, 32];
const WORD_ESCAPE =
  /^(?:\\[dwS]|\\p(?:L|M|N|\{[LMN][a-z]?\})|\[:(?:alnum|alpha|digit|lower|upper|punct|word|xdigit):\])$/;

function holdsSpace(item: ClassItem): boolean {
  if ('escape' in item) return !WORD_ESCAPE.test(item.escape);
  return SPACES.some((space) => item.low <= space && space <= item.high);
}
