import type { Rule, RuleExamples, RuleMatch, RuleStatus, WordLists } from '../types.js';
import type { PackProblem } from './pack-error.js';

/**
 * One rule in many languages. Its id, title and description hold `{code}` and `{language}`; its patterns name word
 * lists without a suffix, which stand for the lists of the language.
 */
export interface MultilingualRule extends Omit<Rule, 'languages' | 'examples' | 'match'> {
  /** For every language that has no shape of its own. */
  readonly match?: RuleMatch | undefined;
  /** Patterns by the order of words. A language takes the shape that its `order` names, or the one its rule names. */
  readonly shapes: Readonly<Record<string, RuleMatch>>;
}

export interface LanguageRule {
  readonly version?: string | undefined;
  readonly status?: RuleStatus | undefined;
  readonly score?: number | undefined;
  /** The shape, when it isn't the one that the language's `order` names. */
  readonly shape?: string | undefined;
  /** Takes the place of all shapes. */
  readonly match?: RuleMatch | undefined;
  /** More patterns beside those of an `any`. */
  readonly also?: readonly string[] | undefined;
  readonly except: readonly string[];
  readonly examples: RuleExamples;
}

/** A language's words and its part in the multilingual rules. */
export interface Language {
  /** BCP 47. In lower case it ends the ids of the rules. */
  readonly code: string;
  /** In English, for titles. */
  readonly name: string;
  /** The `languages` of its rules; default the code alone. */
  readonly tags?: readonly string[] | undefined;
  /** The inside of a class of the letters of its words, folded: `a-z`. For `{{letter}}` and `{{start}}`. */
  readonly letters?: string | undefined;
  /** The shape that its rules have. */
  readonly order?: string | undefined;
  /** By full name, without the language's suffix. */
  readonly words: WordLists;
  /** By the id of the multilingual rule without `-{code}`. */
  readonly rules: Readonly<Record<string, LanguageRule>>;
}

/** Origin of a part of an expanded rule: the multilingual rule or the language's file. */
export interface OriginalPlace {
  readonly in: 'rule' | 'language';
  readonly path: readonly (string | number)[];
}

/** A rule made of a multilingual one and a language. */
export interface ExpandedRule {
  readonly rule: Rule;
  readonly findOrigin: (path: readonly (string | number)[]) => OriginalPlace;
}

type Mistake = Pick<PackProblem, 'code' | 'message' | 'advice'> & { readonly path: readonly (string | number)[] };
export type ExpandResult =
  | { readonly ok: true; readonly expanded: ExpandedRule }
  | { readonly ok: false; readonly mistake: Mistake };

/** The id of a multilingual rule without its language: what language files call it. */
export function familyId({ id }: Pick<MultilingualRule, 'id'>): string {
  return id.replace(/-\{code\}$/, '');
}

/** A language's word lists by the names under which patterns find them: `ignore.fi`. */
export function languageWords(language: Language): WordLists {
  return Object.fromEntries(
    Object.entries(language.words).map(([name, entries]) => [
      `${name}.${language.code}`,
      entries.map((entry) => qualifyLists(entry, language)),
    ]),
  );
}

/**
 * Returns the lists of a pack that its languages fill: `{{mention.latin}}` and `{{mention.other}}`, where no file has a list of that name,
 * stand for the list `mention` of every language that is written with the letters a-z, or that isn't; a list `owner.abroad` is followed by
 * the list `owner` of each language.
 */
export function gatherLists(words: WordLists, languages: readonly Language[]): WordLists {
  const gather = (name: string, isWanted: (language: Language) => boolean = () => true): readonly string[] =>
    languages
      .filter((language) => Object.hasOwn(language.words, name) && isWanted(language))
      .map(({ code }) => `{{${name}.${code}}}`);
  const gathered: Record<string, readonly string[]> = {};
  for (const [list, entries] of Object.entries(words)) {
    const [name = '', suffix] = list.split('.');
    const own = suffix === 'abroad' ? gather(name) : [];
    if (own.length > 0) gathered[list] = [...entries, ...own];
    for (const [, used = '', script] of entries.join('\n').matchAll(/\{\{([a-z][a-z0-9-]*)\.(latin|other)\}\}/g)) {
      const from = gather(used, ({ letters }) => (letters === 'a-z') === (script === 'latin'));
      if (from.length > 0 && !Object.hasOwn(words, `${used}.${script}`)) gathered[`${used}.${script}`] = from;
    }
  }
  return gathered;
}

/**
 * Returns the lists that a language lacks or has left empty, with the ids of the rules that use them.
 *
 * @param rules the rules of this language, as `expandRule` made them
 */
export function missingLists(language: Language, rules: readonly Rule[]): ReadonlyMap<string, ReadonlySet<string>> {
  const { code, words } = language;
  const missing = new Map<string, Set<string>>(
    Object.entries(words).flatMap(([name, entries]) => (entries.length === 0 ? [[name, new Set<string>()]] : [])),
  );
  const reference = new RegExp(`\\{\\{([a-z][a-z0-9-]*)\\.${code}\\}\\}`, 'g');
  for (const { id, match, except } of rules) {
    const seen = new Set<string>();
    const follow = (patterns: string): void => {
      for (const [, name = ''] of patterns.matchAll(reference)) {
        if (seen.has(name)) continue;
        seen.add(name);
        const entries = Object.hasOwn(words, name) ? (words[name] ?? []) : [];
        if (entries.length === 0) missing.set(name, (missing.get(name) ?? new Set()).add(id));
        else follow(entries.map((entry) => qualifyLists(entry, language)).join('\n'));
      }
    };
    follow(JSON.stringify([match, except]));
  }
  return missing;
}

/** Makes the rule of one language. A mistake's path lies in the language's file. */
export function expandRule(shared: MultilingualRule, language: Language): ExpandResult {
  const family = familyId(shared);
  const own = language.rules[family];
  const at = ['rules', family];
  if (!own) return refuse(at, 'PACK011', `${language.name} has no part in ${family}.`, 'Add one.');
  const { match: template, path: templatePath, in: templateFile } = buildTemplate(shared, language, own, at);
  if (!template) {
    const known = Object.keys(shared.shapes).join(', ');
    const message = `The rule \`${family}\` has no shape \`${own.shape ?? language.order ?? ''}\`.`;
    return refuse(
      [...at, ...(own.shape ? ['shape'] : [])],
      'PACK012',
      message,
      `Use one of: ${known}; or write \`match\`.`,
    );
  }
  if (own.also && !('any' in template)) {
    return refuse([...at, 'also'], 'PACK013', 'Only a rule of the kind `any` takes more patterns.', 'Write `match`.');
  }
  const { match: _match, shapes: _shapes, ...kept } = shared;
  const fill = (text: string): string =>
    text.replaceAll('{code}', language.code.toLowerCase()).replaceAll('{language}', language.name);
  const qualify = (pattern: string): string => qualifyLists(pattern, language);
  const match =
    'any' in template ? { any: [...template.any, ...(own.also ?? [])].map(qualify) } : mapSteps(template, qualify);
  const rule: Rule = {
    ...kept,
    id: fill(shared.id),
    title: fill(shared.title),
    description: fill(shared.description),
    version: own.version ?? shared.version,
    status: own.status ?? shared.status,
    score: own.score ?? shared.score,
    languages: language.tags ?? [language.code],
    match,
    except: [...shared.except, ...own.except].map(qualify),
    examples: own.examples,
  };
  const counts = {
    patterns: 'any' in template ? template.any.length : Number.POSITIVE_INFINITY,
    except: shared.except.length,
  };
  const originOf = (path: readonly (string | number)[]): OriginalPlace => {
    const [field, ...rest] = path;
    if (field === 'examples') return { in: 'language', path: [...at, ...path] };
    if (field === 'except') {
      const index = Number(rest[0] ?? 0);
      if (index < counts.except) return { in: 'rule', path };
      return { in: 'language', path: [...at, 'except', index - counts.except] };
    }
    if (field === 'match') {
      const index = Number(rest[1] ?? 0);
      if (index >= counts.patterns) return { in: 'language', path: [...at, 'also', index - counts.patterns] };
      return { in: templateFile, path: [...templatePath, ...rest] };
    }
    return { in: 'rule', path };
  };
  return { ok: true, expanded: { rule, findOrigin: originOf } };
}

function buildTemplate(
  shared: MultilingualRule,
  language: Language,
  own: LanguageRule,
  at: readonly string[],
): { readonly match: RuleMatch | undefined } & OriginalPlace {
  if (own.match) return { match: own.match, in: 'language', path: [...at, 'match'] };
  const name = own.shape ?? language.order;
  const shape = name !== undefined && Object.hasOwn(shared.shapes, name) ? shared.shapes[name] : undefined;
  if (shape) return { match: shape, in: 'rule', path: ['shapes', name as string] };
  return { match: own.shape === undefined ? shared.match : undefined, in: 'rule', path: ['match'] };
}

function mapSteps(match: Exclude<RuleMatch, { any: unknown }>, change: (pattern: string) => string): RuleMatch {
  const mapped = (steps: readonly (readonly string[])[]) => steps.map((step) => step.map(change));
  return 'sequence' in match ? { ...match, sequence: mapped(match.sequence) } : { ...match, all: mapped(match.all) };
}

const SHARED = new Set(['wb', 'we']);

/**
 * Gives the lists in a pattern the language's suffix. `{{letter}}` becomes the class of its letters and `{{start}}` the
 * edge of a word where RE2 knows one for these letters.
 */
function qualifyLists(pattern: string, { code, letters }: Language): string {
  return pattern.replace(/\{\{([a-z][a-z0-9-]*)\}\}/g, (whole, name: string) => {
    if (SHARED.has(name)) return whole;
    if (name === 'start') return letters === 'a-z' ? '\\b' : '';
    if (name === 'letter' && letters !== undefined) return `[${letters}]`;
    return `{{${name}.${code}}}`;
  });
}

function refuse(path: readonly (string | number)[], code: string, message: string, advice: string): ExpandResult {
  return { ok: false, mistake: { path, code, message, advice } };
}
