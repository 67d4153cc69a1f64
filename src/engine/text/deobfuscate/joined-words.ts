import type { Replacement } from '../replacement.js';
import { STRONG, wordKind } from './word-trie.js';

const ROW = /[A-Za-z]{2,20}([.,/\\+:;=&^•·])[A-Za-z]{2,20}(?:\1[A-Za-z]{2,20}){1,200}(?![A-Za-z])/y;
const WORD = /[A-Za-z]+/g;

/**
 * Reads rows of words that a sign joins instead of a space (`ignore.all.previous.instructions`), where half of them
 * are known and one is a strong one: names of hosts and paths are left alone. `rows` are the offsets where such rows
 * may begin.
 */
export function squeezeJoinedWords(text: string, rows: readonly number[]): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const from of rows) {
    ROW.lastIndex = from;
    const row = ROW.exec(text)?.[0];
    if (row === undefined) continue;
    const words = [...row.matchAll(WORD)];
    const kinds = words.map((word) => wordKind(word[0].toLowerCase()));
    if (!kinds.includes(STRONG) || kinds.filter((kind) => kind !== 0).length * 2 < kinds.length) continue;
    for (const word of words.slice(1)) {
      const start = from + word.index - 1;
      found.push({ start, end: start + 1, text: ' ', transform: 'joined-words' });
    }
  }
  return found;
}
