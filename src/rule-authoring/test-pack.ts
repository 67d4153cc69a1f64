import { choosePatternForm, readSteps } from '../engine/rules/compiled-rule.js';
import { type PackProblem, ruleProblem } from '../engine/rules/pack/pack-error.js';
import { createWordLookup } from '../engine/rules/pack/word-lists.js';
import { foldLiteral, foldPattern } from '../engine/rules/pattern/fold-pattern.js';
import { parsePattern } from '../engine/rules/pattern/parse-pattern.js';
import { childrenOf, type PatternNode } from '../engine/rules/pattern/pattern-node.js';
import type { CompiledPack, Finding, Pack, Rule } from '../engine/rules/types.js';
import { buildViews } from '../engine/text/views.js';

interface Look {
  /** Texts that the rule's findings cover: the original's, and the view's where it was decoded. */
  readonly hits: readonly string[];
  /** Ids of the rules that fired. */
  readonly fired: readonly string[];
}

type Place = readonly (string | number)[];

const EXAMPLE_KINDS = ['positive', 'negative', 'todo_positive', 'todo_negative'] as const;

/**
 * Runs every rule's examples through the whole pack at the highest level, and judges the examples too. Costs one scan
 * an example.
 */
export function testPack(
  source: Pack,
  pack: CompiledPack,
  rules: readonly Rule[] = pack.rules,
): readonly PackProblem[] {
  const look = (rule: Rule, text: string): Look => {
    const { views } = buildViews(text);
    const { findings, shadow } = pack.scan(views, { paranoia: 3, exhaustive: true });
    const all = [...findings, ...shadow];
    const own = all.filter((finding) => finding.rule === rule.id);
    const readText = ({ span }: Finding): string => text.slice(span.start, span.end);
    const shorten = ({ view, chain, shown }: Finding): readonly string[] =>
      view === 'folded' || view === 'raw'
        ? []
        : views
            .filter((one) => one.kind === view && one.chain === chain)
            .map((one) => one.text.slice(shown.start, shown.end));
    return {
      hits: own.flatMap((finding) => [readText(finding), ...shorten(finding)]),
      fired: [...new Set(all.map((finding) => finding.rule))],
    };
  };
  return rules
    .filter((rule) => rule.status !== 'deprecated')
    .flatMap((rule) => testRule(source, rule, (text) => look(rule, text)));
}

function testRule(source: Pack, rule: Rule, look: (text: string) => Look): readonly PackProblem[] {
  const literals = (): readonly string[] => ruleVocabulary(source, rule);
  const { positive, negative, todo_positive, todo_negative } = rule.examples;
  return [
    ...positive.flatMap((example, at) => testPositive(rule, example, ['examples', 'positive', at], look)),
    ...negative.flatMap(({ text }, at) =>
      testNegative(rule, text, ['examples', 'negative', at, 'text'], look, literals),
    ),
    ...todo_positive.flatMap((example, at) =>
      testPositive(rule, example, [], look).length > 0 ? [] : [todo(rule, ['examples', 'todo_positive', at, 'text'])],
    ),
    ...todo_negative.flatMap(({ text }, at) =>
      look(text).hits.length > 0 ? [] : [todo(rule, ['examples', 'todo_negative', at, 'text'])],
    ),
    ...duplicates(rule),
  ];
}

function testPositive(
  rule: Rule,
  { text, hit }: { readonly text: string; readonly hit: string },
  path: Place,
  look: (text: string) => Look,
): readonly PackProblem[] {
  const { hits, fired } = look(text);
  if (hits.includes(hit)) return [];
  if (hits.length > 0) {
    const shown = [...new Set(hits)].map((found) => JSON.stringify(found)).join(', ');
    return [
      ruleProblem(rule, 'PACK062', 'The rule matches another part of the text.', `It matches ${shown}.`, [
        ...path,
        'hit',
      ]),
    ];
  }
  if (fired.length > 0) {
    const message = `The rule does not match its own example; only ${fired.map((id) => `\`${id}\``).join(', ')} matched.`;
    return [
      ruleProblem(rule, 'PACK061', message, 'Widen the rule, or move the example to that rule.', [...path, 'text']),
    ];
  }
  const advice = 'Widen the rule, or make it a `todo_positive`.';
  return [ruleProblem(rule, 'PACK060', 'The rule does not match its own example.', advice, [...path, 'text'])];
}

function testNegative(
  rule: Rule,
  text: string,
  path: Place,
  look: (text: string) => Look,
  literals: () => readonly string[],
): readonly PackProblem[] {
  const { hits } = look(text);
  if (hits.length > 0) {
    const advice = `It matches ${JSON.stringify(hits[0])}: narrow the rule, or make it a \`todo_negative\`.`;
    return [ruleProblem(rule, 'PACK063', 'The rule matches its own negative example.', advice, path)];
  }
  const positives = [...rule.examples.positive, ...rule.examples.todo_positive].map((example) => example.text);
  if (shareWord(text, positives, literals)) return [];
  const message = 'This negative example shares no word with the rule, so it proves nothing.';
  return [ruleProblem(rule, 'PACK065', message, 'Write a near miss.', path)];
}

function duplicates(rule: Rule): readonly PackProblem[] {
  const seen = new Set<string>();
  return EXAMPLE_KINDS.flatMap((kind) =>
    rule.examples[kind].flatMap(({ text }, at) => {
      const path = ['examples', kind, at, 'text'];
      if (seen.has(text))
        return [ruleProblem(rule, 'PACK064', 'This example is a duplicate.', 'Remove one of the two.', path)];
      seen.add(text);
      return [];
    }),
  );
}

function todo(rule: Rule, path: Place): PackProblem {
  return ruleProblem(rule, 'PACK066', 'This todo example passes now.', 'Move it to `positive` or `negative`.', path);
}

/** The literal words that a rule's patterns name, word lists included, folded. For judging examples, not for matching. */
function ruleVocabulary(pack: Pack, rule: Rule): readonly string[] {
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

function collect(node: PatternNode, found: Set<string>): void {
  if (node.kind === 'char') found.add(node.text);
  if (node.kind !== 'sequence') {
    for (const child of childrenOf(node)) collect(child, found);
    return;
  }
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

/** The least that a word and a pattern's literal must share. */
const STEM = 3;

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}]/u;

/** True when a text shares a word with some other texts, or has a word that begins as one of the literals does. */
function shareWord(text: string, texts: readonly string[], literals: () => readonly string[]): boolean {
  const words = listWords(text);
  const known = new Set(texts.flatMap(listWords));
  if (words.some((word) => known.has(word))) return true;
  const folded = foldLiteral(text);
  return literals().some((literal) => (isWord(literal) ? nearlyIn(literal, words) : folded.includes(literal.trim())));
}

const isWord = (literal: string): boolean => /^[\p{L}\p{M}\p{N}]+$/u.test(literal) && !UNSPACED.test(literal);

const nearlyIn = (literal: string, words: readonly string[]): boolean =>
  literal.length >= STEM &&
  words.some((word) => word.startsWith(literal) || (word.length >= STEM && literal.startsWith(word)));

/** Words; pairs of letters where words aren't spaced; marks and tags too. */
function listWords(text: string): readonly string[] {
  const folded = foldLiteral(text);
  const spaced = (folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap((word) =>
    UNSPACED.test(word)
      ? Array.from({ length: Math.max(0, word.length - 1) }, (_, at) => word.slice(at, at + 2))
      : [word],
  );
  return [...spaced, ...(folded.match(/[^\p{L}\p{M}\p{N}\s.,]{1,2}/gu) ?? [])];
}
