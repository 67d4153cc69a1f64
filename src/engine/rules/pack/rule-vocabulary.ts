import { choosePatternForm, readSteps } from '../compiled-rule.js';
import { foldPattern } from '../pattern/fold-pattern.js';
import { parsePattern } from '../pattern/parse-pattern.js';
import type { PatternNode } from '../pattern/pattern-node.js';
import type { Pack, Rule } from '../types.js';
import { createWordLookup } from './word-lists.js';

/** The literal words that a rule's patterns name, word lists included, folded. For judging examples, not for matching. */
export function ruleVocabulary(pack: Pack, rule: Rule): readonly string[] {
  const layer = pack.layers.find(({ rules }) => rules.some(({ id }) => id === rule.id));
  const words = createWordLookup(layer?.words ?? {}, () => {});
  const found = new Set<string>();
  for (const { patterns } of readSteps(rule.match).steps) {
    for (const source of patterns) {
      const parsed = parsePattern(source, words);
      if (!parsed.ok) continue;
      collect(choosePatternForm(rule) === 'raw' ? parsed.node : foldPattern(parsed.node, () => {}), found);
    }
  }
  return [...found];
}

/** Adds each run of neighbouring characters. */
function collect(node: PatternNode, found: Set<string>): void {
  if (node.kind === 'char') found.add(node.text);
  if (node.kind === 'choice') for (const option of node.options) collect(option, found);
  if ((node.kind === 'repeat' || node.kind === 'words' || node.kind === 'group') && node.of) collect(node.of, found);
  if (node.kind !== 'sequence') return;
  let run = '';
  for (const part of node.parts) {
    if (part.kind === 'char') run += part.text;
    else {
      if (run !== '') found.add(run);
      run = '';
      collect(part, found);
    }
  }
  if (run !== '') found.add(run);
}
