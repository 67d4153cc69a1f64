import { parsePattern, type WordLookup } from '../pattern/parse-pattern.js';
import type { PatternNode, PatternProblem } from '../pattern/pattern-node.js';
import type { WordLists } from '../types.js';

/** Lists that every pack has: where a word begins and ends in scripts whose `\b` RE2 doesn't know. */
const BUILT_IN_WORDS: WordLists = {
  wb: ['^', '[^\\pL\\pM\\pN]'],
  we: ['$', '[^\\pL\\pM\\pN]'],
};

const MAX_DEPTH = 5;

/** A word list's own mistake: which entry, and what is wrong with it. */
export interface WordProblem {
  readonly list: string;
  readonly entry: number;
  readonly problem: PatternProblem;
}

/**
 * Makes the lookup that patterns of one pack share. Each list is parsed once. Lists may use other lists, five deep.
 */
export function createWordLookup(lists: WordLists, report: (problem: WordProblem) => void): WordLookup {
  const known = new Map<string, PatternNode>();
  const open: string[] = [];

  const lookup: WordLookup = (name, at, length) => {
    const done = known.get(name);
    if (done) return done;
    const list = Object.hasOwn(BUILT_IN_WORDS, name)
      ? BUILT_IN_WORDS[name]
      : Object.hasOwn(lists, name)
        ? lists[name]
        : undefined;
    if (!list) {
      const near = nearest(name, Object.keys(lists));
      const [full, language] = name.split('.');
      const where = language
        ? `\`${full}\` to the words of languages/${language}.yaml`
        : 'the list to a file in words/';
      const advice = near ? `Did you mean \`{{${near}}}\`?` : `Add ${where}.`;
      return { code: 'PACK020', message: `There is no word list \`${name}\`.`, advice, at, length };
    }
    if (open.includes(name) || open.length >= MAX_DEPTH) {
      const message = open.includes(name)
        ? `The word list \`${name}\` uses itself.`
        : 'Word lists are nested too deep.';
      return { code: 'PACK026', message, advice: `Path: ${[...open, name].join(' > ')}.`, at, length };
    }
    open.push(name);
    const options = list.map((entry, index): PatternNode => {
      const parsed = parsePattern(entry, lookup);
      if (parsed.ok) return parsed.node;
      report({ list: name, entry: index, problem: parsed.problem });
      return { kind: 'char', text: '\ufffd', at: 0 };
    });
    open.pop();
    const node: PatternNode = options.length === 1 ? (options[0] as PatternNode) : { kind: 'choice', options };
    known.set(name, node);
    return node;
  };
  return lookup;
}

/** A list that the author may have meant: of the same language, or the same name in any for one without a suffix. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const [stem = name, language] = name.split('.');
  const singular = (word: string): string => word.replace(/s$/, '');
  return names.find((other) => {
    const [otherStem = other, otherLanguage] = other.split('.');
    return singular(otherStem) === singular(stem) && (language === undefined || otherLanguage === language);
  });
}
