import { familyId, type Language, type MultilingualRule } from '../engine/rules/pack/multilingual.js';
import { languageSchema } from '../engine/rules/pack/rule-schema.js';
import { TuningError } from '../evaluation/scoring/score-rules.js';

export interface NewLanguage extends Pick<Language, 'code' | 'name'> {
  /** The letters of its words, folded, as the inside of a character class: `a-z`. */
  readonly letters: string;
  /** Shape of the multilingual rules that it uses: `verb-first` or `verb-last`. */
  readonly order: string;
  /** The code of the language whose words are shown as examples. Default: Finnish or Turkish, by `order`. */
  readonly like?: string | undefined;
}

/** Rules that a new language starts with, where the pack has them. */
const STARTERS = ['override.ignore-previous', 'leak.reveal-prompt', 'persona.unrestricted'];
const MODELS: Readonly<Record<string, string>> = { 'verb-first': 'fi', 'verb-last': 'tr' };
/** Read by the exceptions for quoted text, `words/quoted.yaml`. */
const OPTIONAL = ['mention', 'mention-like', 'mention-after'];
/** Names in patterns that are no list of the language. */
const DERIVED = new Set(['wb', 'we', 'start', 'letter']);

/**
 * Returns the file of a new language: every list that its first rules need, empty, with entries of another language as examples. The linter then
 * lists everything that is still missing.
 *
 * @throws TuningError for a code, name or order that no language may have
 */
export function newLanguage(
  { code, name, letters, order, like = MODELS[order] }: NewLanguage,
  { shared, languages }: { readonly shared: readonly MultilingualRule[]; readonly languages: readonly Language[] },
): string {
  const checked = languageSchema.safeParse({ code, name, letters, order, words: {} });
  const [issue] = checked.error?.issues ?? [];
  if (issue) throw new TuningError(`${issue.path.join('.')}: ${issue.message}.`);
  if (languages.some((one) => one.code === code)) throw new TuningError(`The pack already has the language ${code}.`);
  const starters = shared.filter((rule) => STARTERS.includes(familyId(rule)));
  const rules = (starters.length > 0 ? starters : shared).filter((rule) => rule.shapes[order] ?? rule.match);
  if (rules.length === 0) {
    const orders = [...new Set(shared.flatMap(({ shapes }) => Object.keys(shapes)))].join(', ');
    throw new TuningError(
      `No multilingual rule of the pack has the order ${order}; the pack has: ${orders || 'none'}.`,
    );
  }
  const model = languages.find((one) => one.code === like) ?? languages.find((one) => one.order === order);
  const lists = new Set(
    rules
      .flatMap((rule) => listNames([rule.shapes[order] ?? rule.match, rule.except]))
      .filter((list) => !DERIVED.has(list)),
  );
  const line = (list: string): string => {
    const shown = model?.words[list]?.slice(0, 4).map((entry) => JSON.stringify(entry)) ?? [];
    return `  ${list}: []${shown.length > 0 ? ` # ${model?.code}: ${shown.join(', ')}` : ''}\n`;
  };
  const optional = OPTIONAL.filter((list) => !lists.has(list) && model?.words[list]);
  const example = (rule: MultilingualRule): string => {
    const examples = model?.rules[familyId(rule)]?.examples;
    const show = (kind: 'positive' | 'negative'): string => {
      const [first] = examples?.[kind] ?? [];
      return `      ${kind}: []${first ? ` # ${model?.code}: ${JSON.stringify(first)}` : ''}\n`;
    };
    return `  ${familyId(rule)}:\n    examples: # at least three of each\n${show('positive')}${show('negative')}`;
  };
  return [
    `# ${name}: its words, and its part in the multilingual rules. See "Add a language" in docs/rules.md.\n`,
    `code: ${code}\nname: ${name}\nletters: ${letters}\norder: ${order}\n`,
    '# RE2 fragments in natural spelling. `portcullis rules lint` lists everything that is missing.\n',
    `words:\n${[...lists].map(line).join('')}`,
    optional.length > 0
      ? '  # Words around a quotation of an attack; remove the lists that the language has no use for.\n'
      : '',
    optional.map(line).join(''),
    `rules:\n${rules.map(example).join('')}`,
  ].join('');
}

/** Names without a suffix: those of the language's own lists. */
function listNames(patterns: unknown): readonly string[] {
  return [...JSON.stringify(patterns).matchAll(/\{\{([a-z][a-z0-9-]*)\}\}/g)].map(([, name = '']) => name);
}
