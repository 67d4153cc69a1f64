import { type PatternNode, rememberChoices } from './pattern-node.js';

/** Shortest and longest match in UTF-16 code units; `longest` may be infinite. */
export interface PatternLength {
  readonly shortest: number;
  readonly longest: number;
}

const NOTHING: PatternLength = { shortest: 0, longest: 0 };
/** The longest run that a literal space may stand for; see `print-pattern.ts`. */
const SPACE: PatternLength = { shortest: 1, longest: 4 };

export const measurePattern: (node: PatternNode) => PatternLength = rememberChoices(measure);

function measure(node: PatternNode): PatternLength {
  switch (node.kind) {
    case 'empty':
    case 'edge':
      return NOTHING;
    case 'char':
      return { shortest: node.text.length, longest: node.text.length };
    case 'space':
      return SPACE;
    case 'dot':
    case 'class':
      return { shortest: 1, longest: 2 };
    case 'sequence':
      return node.parts
        .map(measurePattern)
        .reduce(
          (sum, part) => ({ shortest: sum.shortest + part.shortest, longest: sum.longest + part.longest }),
          NOTHING,
        );
    case 'choice': {
      const options = node.options.map(measurePattern);
      return {
        shortest: Math.min(...options.map((option) => option.shortest)),
        longest: Math.max(...options.map((option) => option.longest)),
      };
    }
    case 'repeat': {
      const of = measurePattern(node.of);
      return {
        shortest: of.shortest * node.min,
        longest: of.longest === 0 || node.max === 0 ? 0 : of.longest * node.max,
      };
    }
    case 'group':
      return node.of ? measurePattern(node.of) : NOTHING;
    case 'words':
      return measurePattern(node.of);
  }
}
