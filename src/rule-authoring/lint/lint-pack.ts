import { chooseGroup, readSteps } from '../../engine/rules/compiled-rule.js';
import { type PackProblem, ruleProblem } from '../../engine/rules/pack/pack-error.js';
import { createWordLookup } from '../../engine/rules/pack/word-lists.js';
import type { PreparedGroup } from '../../engine/rules/pattern/compiled-pattern.js';
import { preparePatterns } from '../../engine/rules/pattern/prepare-patterns.js';
import { createLiteralMatches } from '../../engine/rules/prefilter/literal-matches.js';
import type { Pack, Rule } from '../../engine/rules/types.js';
import { buildViews } from '../../engine/text/views.js';
import { checkPatternShapes } from './pattern-checks.js';

/** Problems that are accepted: by rule id and code, how many, and why. */
export type LintSuppressions = Readonly<
  Record<string, Readonly<Record<string, { readonly count: number; readonly reason: string }>>>
>;

export interface LintOptions {
  /** Every tag that a rule may carry. */
  readonly tags: ReadonlySet<string>;
  /** Default: none. When a rule has more problems of a code than suppressed, all of them are reported. */
  readonly suppressions?: LintSuppressions | undefined;
}

const EXAMPLES = 3;

type Check = (rule: Rule, options: LintOptions) => readonly PackProblem[];

/**
 * Checks what the schema can't say, in the rules given (default: all of the pack). Mistakes in patterns are found by
 * compiling, examples are run by `testPack`.
 */
export function lintPack(
  pack: Pack,
  options: LintOptions,
  rules: readonly Rule[] = pack.layers.flatMap((layer) => layer.rules),
): readonly PackProblem[] {
  const wanted = new Set(rules.map(({ id }) => id));
  return pack.layers.flatMap((layer) => {
    const own = layer.rules.filter(({ id }) => wanted.has(id));
    if (own.length === 0) return [];
    const words = createWordLookup(layer.words, () => {});
    // Without exceptions: a negative must get past the prefilter to the rule's own patterns.
    const steps = own.map((rule) => ({ ...rule, except: [] }));
    const { raw, folded } = layer.prepared ?? preparePatterns(steps, words, () => {});
    const literals = { raw: readLiterals(raw), folded: readLiterals(folded) };
    return own.flatMap((rule) => {
      const problems = [
        ...CHECKS.flatMap((check) => check(rule, options)),
        ...checkPatternShapes(rule, words),
        ...checkNegatives(rule, literals[chooseGroup(rule)]),
      ];
      const suppressed = options.suppressions?.[rule.id] ?? {};
      const count = (code: string): number => problems.filter((one) => one.code === code).length;
      return problems.filter(({ code }) => count(code) > (suppressed[code]?.count ?? 0));
    });
  });
}

const CHECKS: readonly Check[] = [
  checkDescription,
  checkTags,
  checkExamples,
  checkHits,
  checkScore,
  checkPatterns,
  checkSpan,
];

function checkDescription(rule: Rule): readonly PackProblem[] {
  if (rule.description.startsWith('Detects ')) return [];
  const message = 'The description must say what the rule detects.';
  return [ruleProblem(rule, 'PACK037', message, 'Start it with `Detects `.', ['description'])];
}

function checkTags(rule: Rule, { tags }: LintOptions): readonly PackProblem[] {
  const unknown = rule.tags.flatMap((tag, at) =>
    tags.has(tag)
      ? []
      : [ruleProblem(rule, 'PACK030', `There is no tag \`${tag}\`.`, 'Use one from rules/tags.yaml.', ['tags', at])],
  );
  const bare = rule.tags.length === 0 && rule.status !== 'deprecated';
  return bare
    ? [ruleProblem(rule, 'PACK031', 'The rule has no tag.', 'Add at least an `owasp:` tag.', ['id'])]
    : unknown;
}

function checkExamples(rule: Rule): readonly PackProblem[] {
  if (rule.status !== 'stable') return [];
  return (['positive', 'negative'] as const).flatMap((kind) => {
    const count = rule.examples[kind].length;
    if (count >= EXAMPLES) return [];
    const message = `A stable rule has at least ${EXAMPLES} ${kind} examples; this one has ${count}.`;
    return [ruleProblem(rule, 'PACK032', message, 'Add some, or make the rule experimental.', ['examples'])];
  });
}

function checkHits(rule: Rule): readonly PackProblem[] {
  const message = 'The hit is not part of the text.';
  const advice = 'Copy it from the text, character for character.';
  return rule.examples.positive.flatMap(({ text, hit }, at) =>
    text.includes(hit) ? [] : [ruleProblem(rule, 'PACK033', message, advice, ['examples', 'positive', at, 'hit'])],
  );
}

function checkScore(rule: Rule): readonly PackProblem[] {
  const report = (message: string, advice: string) => [ruleProblem(rule, 'PACK034', message, advice, ['score'])];
  if (rule.severity === 'critical' && rule.score < 0.3)
    return report('The severity is critical, but the score is weak.', 'Raise the score or lower the severity.');
  if (rule.severity === 'low' && rule.score >= 0.9)
    return report('The severity is low, but the rule blocks on its own.', 'Lower the score or raise the severity.');
  return [];
}

function checkPatterns(rule: Rule): readonly PackProblem[] {
  return readSteps(rule.match).steps.flatMap(({ path, patterns }) =>
    patterns.flatMap((pattern, at) =>
      patterns.indexOf(pattern) === at
        ? []
        : [ruleProblem(rule, 'PACK035', 'This pattern is listed twice.', 'Remove one of them.', [...path, at])],
    ),
  );
}

/** A chain longer than this could reach over more than one segment boundary. */
const MAX_REACH = 2000;

function checkSpan(rule: Rule): readonly PackProblem[] {
  const { shape, steps } = readSteps(rule.match);
  if (shape.kind !== 'sequence' || shape.gap * (steps.length - 1) <= MAX_REACH) return [];
  const message = `The steps may be more than ${MAX_REACH} characters apart.`;
  return [ruleProblem(rule, 'PACK036', message, 'Lower `gap`.', ['match', 'gap'])];
}

/** The literals that the patterns of some rules require. */
interface Literals extends Pick<PreparedGroup, 'patterns'> {
  /** Whether a text has a literal of one of these sets. */
  readonly occur: (sets: readonly number[], text: string) => boolean;
}

function readLiterals({ patterns, index }: PreparedGroup): Literals {
  const matches = createLiteralMatches(index, () => false);
  return {
    patterns,
    occur(sets, text) {
      matches.scan(text);
      return sets.some(matches.occurs);
    },
  };
}

/** Letters of a word that is worth sharing. */
const WORD = 4;

/**
 * Reports negative examples in which no required literal of the rule occurs, and no word of what its positive examples hit:
 * the prefilter drops such a text before any pattern runs, so that it would pass whatever the patterns say. All views count: a rule of hidden text has plain text as its
 * near miss. Drafts, which run in shadow, and rules with a pattern without required literals are not judged.
 */
function checkNegatives(rule: Rule, { patterns, occur }: Literals): readonly PackProblem[] {
  if (rule.status !== 'stable') return [];
  const alternatives = patterns
    .get(rule.id)
    ?.steps.flat()
    .map((pattern) => pattern?.alternatives ?? []);
  if (alternatives?.some(({ length }) => length === 0)) return [];
  const sets = alternatives?.flat().flatMap(({ trigger, nearby }) => [trigger, ...nearby.map(({ set }) => set)]);
  const hits = new Set(rule.examples.positive.flatMap(({ hit }) => listWords(hit)));
  return rule.examples.negative.flatMap(({ text }, at) => {
    const { views } = buildViews(text);
    if (views.some((view) => occur(sets ?? [], view.text))) return [];
    if (listWords(text).some((word) => hits.has(word))) return [];
    const message =
      'This negative example contains no phrase that the rule requires and no word that it matches, so it proves nothing.';
    return [ruleProblem(rule, 'PACK067', message, NEAR_MISS, ['examples', 'negative', at, 'text'])];
  });
}

const NEAR_MISS = 'Write a near miss: a benign text that shares a phrase or a word with the rule.';

const listWords = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word.length >= WORD);
