import type { PatternNode } from './pattern-node.js';

/** Shortest and longest match in UTF-16 code units; `longest` may be infinite. */
export interface PatternFacts {
  readonly shortest: number;
  readonly longest: number;
}

const NOTHING: PatternFacts = { shortest: 0, longest: 0 };
/** The longest run that a literal space may stand for; see `print-pattern.ts`. */
const SPACE: PatternFacts = { shortest: 1, longest: 4 };

/** Measures a pattern without running it. */
export function patternFacts(node: PatternNode): PatternFacts {
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
        .map(patternFacts)
        .reduce(
          (sum, part) => ({ shortest: sum.shortest + part.shortest, longest: sum.longest + part.longest }),
          NOTHING,
        );
    case 'choice': {
      const options = node.options.map(patternFacts);
      return {
        shortest: Math.min(...options.map((option) => option.shortest)),
        longest: Math.max(...options.map((option) => option.longest)),
      };
    }
    case 'repeat': {
      const of = patternFacts(node.of);
      return {
        shortest: of.shortest * node.min,
        longest: of.longest === 0 || node.max === 0 ? 0 : of.longest * node.max,
      };
    }
    case 'group':
      return node.of ? patternFacts(node.of) : NOTHING;
    case 'words':
      return patternFacts(node.of);
  }
}
