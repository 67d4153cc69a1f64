import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { z } from 'zod';
import {
  expandRule,
  familyId,
  gatherLists,
  type Language,
  languageWords,
  type MultilingualRule,
  missingLists,
} from '../../engine/rules/pack/multilingual.js';
import { PackError, type PackPlace, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import {
  languageSchema,
  multilingualSchema,
  packHeadSchema,
  ruleSchema,
  wordsSchema,
} from '../../engine/rules/pack/rule-schema.js';

import { schemaProblems } from '../../engine/rules/pack/schema-problems.js';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import type { Rule, WordLists } from '../../engine/rules/types.js';
import { formatProblem, type PackSources, parseYamlFile, reportProblems, type YamlFile } from './pack-yaml.js';

/** A pack folder's content and the files it came from. */
export interface PackFolder {
  readonly content: PackContent;
  readonly sources: PackSources;
}

const WORDS = 'words/';
const LANGUAGES = 'languages/';
const MULTILINGUAL = /\.multilingual\.ya?ml$/;

/**
 * Reads a pack folder: `pack.yaml`, `words/*.yaml`, `languages/*.yaml` and a folder of rules for each family.
 *
 * @throws PackError with every mistake of every file, each with its line and a caret
 */
// Long: words, languages and rules are read in the order in which each needs the one before; all add to one list of mistakes.
export function readPackFolder(folder: string): PackFolder {
  const reports: string[] = [];
  const problems: PackProblem[] = [];
  const owners = new Map<string, Owner>();
  const sources: PackSources = {
    fileOf: ({ place }) => {
      const owner = owners.get(place.in === 'pack' ? 'pack ' : `${place.in} ${place.name}`);
      return typeof owner === 'function' ? owner(place) : owner;
    },
  };

  const note = (problem: PackProblem, file: YamlFile): void => {
    problems.push(problem);
    reports.push(formatProblem(problem, file.path, file.locate(problem.place)));
  };
  const parse = <T>(schema: z.ZodType<T>, file: YamlFile, place: Omit<PackPlace, 'path'>): T | undefined => {
    if (file.value === undefined) return undefined;
    const parsed = schema.safeParse(file.value);
    if (parsed.success) return parsed.data;
    for (const problem of schemaProblems(parsed.error, place)) note(problem, file);
    return undefined;
  };
  const open = (name: string): YamlFile => {
    const path = join(folder, name);
    const file = parseYamlFile(path.replaceAll(sep, '/'), readFileSync(path, 'utf8'));
    for (const { message, place } of file.errors) {
      const problem = { code: 'PACK001', message: `Invalid YAML: ${message}.`, advice: 'Correct the syntax.' };
      problems.push({ ...problem, place: { in: 'pack', name: '', path: [] } });
      reports.push(formatProblem(problem, file.path, place));
    }
    return file;
  };

  const names = yamlFiles(folder);
  if (!names.includes('pack.yaml')) {
    const message = `The folder ${folder} does not contain a pack.yaml.`;
    throw new PackError([
      { code: 'PACK007', message, advice: 'Name a pack folder.', place: { in: 'pack', name: '', path: [] } },
    ]);
  }
  const headFile = open('pack.yaml');
  owners.set('pack ', headFile);
  const head = parse(packHeadSchema, headFile, { in: 'pack', name: '' });

  const words: Record<string, readonly string[]> = {};
  const addWords = (lists: WordLists, file: YamlFile, owner: Owner): void => {
    for (const [list, entries] of Object.entries(lists)) {
      if (Object.hasOwn(words, list)) note(twice(list, sources.fileOf(twice(list, undefined))), file);
      words[list] = entries;
      owners.set(`words ${list}`, owner);
    }
  };
  for (const name of names.filter((path) => path.startsWith(WORDS))) {
    const file = open(name);
    addWords(parse(wordsSchema, file, { in: 'words', name: '' }) ?? {}, file, file);
  }

  const languages: { readonly language: Language; readonly file: YamlFile; readonly rules: Rule[] }[] = [];
  for (const name of names.filter((path) => path.startsWith(LANGUAGES))) {
    const file = open(name);
    const language = parse(languageSchema, file, { in: 'pack', name: '' });
    if (!language) continue;
    languages.push({ language, file, rules: [] });
    const suffix = `.${language.code}`;
    addWords(languageWords(language), file, ({ path: [list, ...rest], key }) =>
      withPlace(file, ['words', String(list).replace(suffix, ''), ...rest], key),
    );
  }

  Object.assign(
    words,
    gatherLists(
      words,
      languages.map(({ language }) => language),
    ),
  );

  const rules: Rule[] = [];
  const addRule = (rule: Rule, file: YamlFile, owner: Owner): void => {
    if (owners.has(`rule ${rule.id}`)) {
      const message = `The id \`${rule.id}\` is used by two rules.`;
      const place: PackPlace = { in: 'rule', name: rule.id, path: ['id'] };
      note({ code: 'PACK014', message, advice: 'Rename one of them.', place }, file);
    }
    rules.push(rule);
    owners.set(`rule ${rule.id}`, owner);
  };
  const families = new Set<string>();
  const addLanguages = (shared: MultilingualRule, shape: YamlFile): void => {
    families.add(familyId(shared));
    for (const { language, file, rules: made } of languages) {
      if (!Object.hasOwn(language.rules, familyId(shared))) continue;
      const result = expandRule(shared, language);
      if (!result.ok) {
        const { path, ...mistake } = result.mistake;
        note({ ...mistake, place: { in: 'pack', name: '', path } }, file);
        continue;
      }
      const { rule, findOrigin: originOf } = result.expanded;
      made.push(rule);
      addRule(rule, shape, ({ path, key, at, length }) => {
        const origin = originOf(path);
        const isOwn = origin.in === 'language';
        return withPlace(isOwn ? file : shape, origin.path, key, isOwn ? { at, length } : {});
      });
    }
  };
  for (const name of names.filter(
    (path) => path.includes('/') && !path.startsWith(WORDS) && !path.startsWith(LANGUAGES),
  )) {
    const file = open(name);
    const isMultilingual = MULTILINGUAL.test(name);
    const rule: Rule | MultilingualRule | undefined = isMultilingual
      ? parse(multilingualSchema, file, { in: 'rule', name })
      : parse(ruleSchema, file, { in: 'rule', name });
    if (!rule) continue;
    const stem = name
      .replace(MULTILINGUAL, '-{code}')
      .replace(/\.ya?ml$/, '')
      .replaceAll('/', '.');
    if (rule.id !== stem) {
      const message = `The id \`${rule.id}\` does not match the file's path.`;
      const advice = `Write \`${stem}\`, or move the file.`;
      note({ code: 'PACK008', message, advice, place: { in: 'rule', name: rule.id, path: ['id'] } }, file);
    }
    if (isMultilingual) addLanguages(rule as MultilingualRule, file);
    else addRule(rule as Rule, file, file);
  }
  for (const { language, file, rules: made } of languages) {
    for (const problem of missingParts(language, made)) note(problem, file);
    for (const family of Object.keys(language.rules).filter((id) => !families.has(id))) {
      const message = `There is no multilingual rule \`${family}\`.`;
      const advice = `Use one of: ${[...families].join(', ')}.`;
      note(
        { code: 'PACK011', message, advice, place: { in: 'pack', name: '', path: ['rules', family], key: true } },
        file,
      );
    }
  }

  if (problems.length > 0 || !head) throw new PackError(problems, reports.join('\n'));
  rules.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { content: { head, words, rules }, sources };
}

/** Reads the multilingual rules and the languages of a pack folder that has no mistakes. @throws PackError with every mistake */
export function readLanguages(folder: string): {
  readonly shared: readonly MultilingualRule[];
  readonly languages: readonly Language[];
} {
  readPackFolder(folder);
  const read = <T>(schema: z.ZodType<T>, isWanted: (name: string) => boolean): readonly T[] =>
    yamlFiles(folder)
      .filter(isWanted)
      .map((name) => schema.parse(parseYamlFile(name, readFileSync(join(folder, name), 'utf8')).value));
  return {
    shared: read(multilingualSchema, (name) => MULTILINGUAL.test(name)),
    languages: read(languageSchema, (name) => name.startsWith(LANGUAGES)),
  };
}

/** Paths below the folder, with `/` on every system, sorted, so that the content doesn't hang on the file system's order. */
function yamlFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll(sep, '/'))
    .filter((name) => /\.ya?ml$/.test(name))
    .sort();
}

/** The file that a problem's place lies in; a function where parts of it lie in several. */
type Owner = YamlFile | ((place: PackPlace) => YamlFile);

/** The file, but every problem is shown at one place of it. */
function withPlace(
  file: YamlFile,
  path: PackPlace['path'],
  key: boolean | undefined,
  within: Pick<PackPlace, 'at' | 'length'> = {},
): YamlFile {
  return { ...file, locate: () => file.locate({ path, key, ...within }) };
}

function twice(name: string, other: YamlFile | undefined): PackProblem {
  return {
    code: 'PACK009',
    message: `The word list \`${name}\` is also in ${other?.path ?? 'another file'}.`,
    advice: 'Keep one of them.',
    place: { in: 'words', name, path: [name], key: true },
  };
}

/** Stable rules have at least so many examples of each kind, as the linter asks. */
const EXAMPLES = 3;

/** Returns everything that an unfinished language lacks: lists and, where any is missing, examples. */
function missingParts(language: Language, rules: readonly Rule[]): readonly PackProblem[] {
  const lists = [...missingLists(language, rules)].map(([name, users]): PackProblem => {
    const isEmpty = Object.hasOwn(language.words, name);
    const used = users.size === 0 ? '' : `; ${[...users].join(', ')} use${users.size === 1 ? 's' : ''} it`;
    return {
      code: 'PACK015',
      message: `The list \`${name}\` of ${language.name} is ${isEmpty ? 'empty' : 'missing'}${used}.`,
      advice: name === 'letter' ? 'Write `letters`.' : isEmpty ? 'Write its entries.' : `Add \`${name}\` to \`words\`.`,
      place: { in: 'pack', name: '', path: isEmpty ? ['words', name] : ['words'], key: true },
    };
  });
  if (lists.length === 0) return [];
  const examples = rules
    .filter(({ status }) => status === 'stable')
    .flatMap(({ id, examples: given }) =>
      (['positive', 'negative'] as const)
        .filter((kind) => given[kind].length < EXAMPLES)
        .map(
          (kind): PackProblem => ({
            code: 'PACK032',
            message: `A stable rule has at least ${EXAMPLES} ${kind} examples; ${id} has ${given[kind].length}.`,
            advice: 'Add some, or make the rule experimental.',
            place: { in: 'pack', name: '', path: ['rules', id.slice(0, -language.code.length - 1)], key: true },
          }),
        ),
    );
  return [...lists, ...examples];
}

/** Gives a pack error from compiling the lines and carets of the files. */
export function withPlaces(error: PackError, sources: PackSources): PackError {
  return new PackError(error.problems, reportProblems(error.problems, sources));
}
