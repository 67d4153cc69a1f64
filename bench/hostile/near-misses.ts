import type { Rule, WordLists } from '../../src/engine/rules/types.js';
import { fill, pick } from './fill.js';
import type { HostileText } from './hostile-text.js';

/** The plain words of the word lists, without their regular-expression marks. */
const triggerWords = (words: WordLists): readonly string[] => {
  const plain = Object.values(words)
    .flat()
    .map((fragment) => fragment.replace(/\(\?:([^|)]*)[^)]*\)\??/g, '$1').replace(/[?+*\\^$]/g, ''))
    .filter((word) => /^[\p{L}\p{M}' -]{2,}$/u.test(word));
  return plain.length > 0 ? plain : ['ignore', 'previous', 'instructions'];
};

const withoutLastWord = (text: string): string => text.replace(/\s*\S+\s*$/u, '');
const backwards = (text: string): string => text.split(/\s+/).reverse().join(' ');

/** The rules' own words in an order that fires none, or all: what an attacker would send to slow the sets down. */
export function triggerSoups(words: WordLists, rules: readonly Rule[]): readonly HostileText[] {
  const plain = triggerWords(words);
  const hits = rules.flatMap(({ examples }) => examples.positive ?? []).map(({ hit }) => hit);
  const some = hits.length > 0 ? hits : ['ignore all previous instructions'];
  return [
    { name: 'trigger words, spaced', make: (size) => fill(size, () => `${pick(plain)} `) },
    { name: 'trigger words, one a line', make: (size) => fill(size, () => `${pick(plain)}\n`) },
    { name: 'trigger words, unspaced', make: (size) => fill(size, () => pick(plain)) },
    { name: 'trigger words cut short', make: (size) => fill(size, () => `${pick(plain).slice(0, -1)} `) },
    { name: 'trigger words, spread out', make: (size) => fill(size, () => `${pick(plain)}${' x'.repeat(20)} `) },
    { name: 'hits of every rule', make: (size) => fill(size, () => `${pick(some)}. `) },
    { name: 'hits of every rule, last word gone', make: (size) => fill(size, () => `${withoutLastWord(pick(some))} `) },
    { name: 'hits of every rule, backwards', make: (size) => fill(size, () => `${backwards(pick(some))} `) },
    { name: 'hits without spaces', make: (size) => fill(size, () => pick(some).replace(/\s/g, '')) },
  ];
}

/** For each rule, its own hits over and over with the last word gone or another rule's start after it. */
export function nearMisses(rules: readonly Rule[]): readonly HostileText[] {
  return rules.flatMap(({ id, examples }) => {
    const hits = (examples.positive ?? []).map(({ hit }) => hit);
    if (hits.length === 0) return [];
    return [
      { name: `near-misses of ${id}`, make: (size: number) => fill(size, () => `${withoutLastWord(pick(hits))} `) },
      { name: `hits of ${id}`, make: (size: number) => fill(size, () => `${pick(hits)} `) },
    ];
  });
}
