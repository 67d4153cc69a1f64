import { readSteps } from '../../src/engine/rules/compiled-rule.js';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { parsePattern } from '../../src/engine/rules/pattern/parse-pattern.js';
import type { PatternNode } from '../../src/engine/rules/pattern/pattern-node.js';
import type { Rule, WordLists } from '../../src/engine/rules/types.js';
import { fill, pick, random } from './fill.js';
import type { HostileText } from './hostile-text.js';

/** The least of a repeat, and up to so many more. */
const MORE = 3;

/**
 * Beginnings of what the patterns of the rules for English match: the literals of hundreds of rules in every segment, and few matches. And the
 * same between what their exceptions match.
 */
export function patternSamples(words: WordLists, rules: readonly Rule[]): readonly HostileText[] {
  const lookup = createWordLookup(words, () => {});
  const english = rules.filter(({ languages }) => languages.length === 0 || languages.includes('en'));
  const parse = (sources: readonly string[]): readonly PatternNode[] =>
    sources.flatMap((source) => {
      const parsed = parsePattern(source, lookup);
      return parsed.ok ? [parsed.node] : [];
    });
  const nodes = parse(english.flatMap(({ match }) => readSteps(match).steps.flatMap(({ patterns }) => patterns)));
  const exceptions = parse(english.flatMap(({ except }) => except));
  const beginning = (share: number): string => {
    const text = sample(pick(nodes));
    return `${text.slice(0, Math.ceil(share * text.length))} `;
  };
  return [
    ...[0.6, 0.8].map((share) => ({
      name: `what patterns match, cut to ${100 * share} %`,
      make: (size: number) => fill(size, () => beginning(share)),
    })),
    {
      name: 'what patterns and exceptions match, cut to 80 %',
      make: (size) => fill(size, () => `${beginning(0.8)}${sample(pick(exceptions))} `),
    },
  ];
}

/** A text that a pattern matches, or nearly: of a class its first member. */
function sample(node: PatternNode): string {
  switch (node.kind) {
    case 'char':
      return node.text;
    case 'space':
      return ' ';
    case 'dot':
      return 'x';
    case 'class': {
      const [first] = node.items;
      return node.negated || !first || 'escape' in first ? 'x' : String.fromCodePoint(first.low);
    }
    case 'sequence':
      return node.parts.map(sample).join('');
    case 'choice':
      return sample(pick(node.options));
    case 'repeat':
      return Array.from({ length: node.min + random(Math.min(node.max - node.min, MORE) + 1) }, () =>
        sample(node.of),
      ).join('');
    case 'words':
      return sample(node.of);
    case 'group':
      return node.of ? sample(node.of) : '';
    default:
      return '';
  }
}
