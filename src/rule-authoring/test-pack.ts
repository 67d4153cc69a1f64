import type { PackProblem } from '../engine/rules/pack/pack-error.js';
import { ruleVocabulary } from '../engine/rules/pack/rule-vocabulary.js';
import type { CompiledPack, Finding, Pack, Rule } from '../engine/rules/types.js';
import type { ViewSet } from '../engine/text/view.js';
import { shareWord } from './share-word.js';

/** How the tester reads an example's text. */
export type ReadViews = (text: string) => ViewSet;

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
  readViews: ReadViews,
  rules: readonly Rule[] = pack.rules,
): readonly PackProblem[] {
  const look = (rule: Rule, text: string): Look => {
    const { views } = readViews(text);
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
    return [problem(rule, 'PACK062', 'The rule hits another part of the text.', `It hits ${shown}.`, [...path, 'hit'])];
  }
  if (fired.length > 0) {
    const message = `The rule misses its own example; only ${fired.map((id) => `\`${id}\``).join(', ')} fired.`;
    return [problem(rule, 'PACK061', message, 'Widen the rule, or move the example to that rule.', [...path, 'text'])];
  }
  return [
    problem(rule, 'PACK060', 'The rule misses its own example.', 'Widen the rule, or make it a `todo_positive`.', [
      ...path,
      'text',
    ]),
  ];
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
    const advice = `It hits ${JSON.stringify(hits[0])}: narrow the rule, or make it a \`todo_negative\`.`;
    return [problem(rule, 'PACK063', 'The rule fires on its own negative example.', advice, path)];
  }
  const positives = [...rule.examples.positive, ...rule.examples.todo_positive].map((example) => example.text);
  if (shareWord(text, positives, literals)) return [];
  const message = 'This negative shares no word with the rule: it proves nothing.';
  return [problem(rule, 'PACK065', message, 'Write one that nearly fires.', path)];
}

function duplicates(rule: Rule): readonly PackProblem[] {
  const seen = new Set<string>();
  return EXAMPLE_KINDS.flatMap((kind) =>
    rule.examples[kind].flatMap(({ text }, at) => {
      const known = seen.has(text);
      seen.add(text);
      return known
        ? [problem(rule, 'PACK064', 'This example is there twice.', 'Take one out.', ['examples', kind, at, 'text'])]
        : [];
    }),
  );
}

function todo(rule: Rule, path: Place): PackProblem {
  return problem(rule, 'PACK066', 'This todo is done: the example passes.', 'Move it to the proper examples.', path);
}

function problem(rule: Rule, code: string, message: string, advice: string, path: Place): PackProblem {
  return { code, message, advice, place: { in: 'rule', name: rule.id, path } };
}
