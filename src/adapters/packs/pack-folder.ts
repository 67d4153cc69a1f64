import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { z } from 'zod';
import { PackError, type PackPlace, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import { packHeadSchema, wordsSchema } from '../../engine/rules/pack/pack-schema.js';
import { ruleSchema } from '../../engine/rules/pack/rule-schema.js';
import { schemaProblems } from '../../engine/rules/pack/schema-problems.js';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import type { Rule } from '../../engine/rules/types.js';
import { formatProblem, type PackSources, reportProblems } from './pack-report.js';
import { parseYamlFile, type YamlFile } from './pack-yaml.js';

/** A pack folder's content and the files it came from. */
export interface PackFolder {
  readonly content: PackContent;
  readonly sources: PackSources;
}

/**
 * Reads a pack folder: `pack.yaml`, `words/*.yaml` and a folder of rules for each family.
 *
 * @throws PackError with every mistake of every file, each with its line and a caret
 */
export function readPackFolder(folder: string): PackFolder {
  const reports: string[] = [];
  const problems: PackProblem[] = [];
  const owners = new Map<string, YamlFile>();
  const sources: PackSources = {
    fileOf: ({ place }) => owners.get(place.in === 'pack' ? 'pack ' : `${place.in} ${place.name}`),
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
    const file = parseYamlFile(join(folder, name), readFileSync(join(folder, name), 'utf8'));
    for (const { message, place } of file.errors) {
      const problem = { code: 'PACK001', message: `Not YAML: ${message}.`, advice: 'Correct the syntax.' };
      problems.push({ ...problem, place: { in: 'pack', name: '', path: [] } });
      reports.push(formatProblem(problem, file.path, place));
    }
    return file;
  };

  const names = yamlFiles(folder);
  if (!names.includes('pack.yaml')) {
    const message = `The folder ${folder} holds no pack.yaml.`;
    throw new PackError([
      { code: 'PACK007', message, advice: 'Name a pack folder.', place: { in: 'pack', name: '', path: [] } },
    ]);
  }
  const headFile = open('pack.yaml');
  owners.set('pack ', headFile);
  const head = parse(packHeadSchema, headFile, { in: 'pack', name: '' });

  const words: Record<string, readonly string[]> = {};
  for (const name of names.filter((path) => path.startsWith(`words${sep}`))) {
    const file = open(name);
    for (const [list, entries] of Object.entries(parse(wordsSchema, file, { in: 'words', name: '' }) ?? {})) {
      if (Object.hasOwn(words, list)) note(twice('PACK009', 'word list', list, owners.get(`words ${list}`)), file);
      words[list] = entries;
      owners.set(`words ${list}`, file);
    }
  }

  const rules: Rule[] = [];
  for (const name of names.filter((path) => path.includes(sep) && !path.startsWith(`words${sep}`))) {
    const file = open(name);
    const rule = parse(ruleSchema, file, { in: 'rule', name }) as Rule | undefined;
    if (!rule) continue;
    const due = name
      .replace(/\.ya?ml$/, '')
      .split(sep)
      .join('.');
    if (rule.id !== due) {
      const message = `The id \`${rule.id}\` doesn't fit the file's place.`;
      const advice = `Write \`${due}\`, or move the file.`;
      note({ code: 'PACK008', message, advice, place: { in: 'rule', name: rule.id, path: ['id'] } }, file);
    }
    rules.push(rule);
    owners.set(`rule ${rule.id}`, file);
  }

  if (problems.length > 0 || !head) throw new PackError(problems, reports.join('\n'));
  rules.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { content: { head, words, rules }, sources };
}

/** Paths below the folder, sorted, so that the content doesn't hang on the file system's order. */
function yamlFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.ya?ml$/.test(name))
    .sort();
}

function twice(code: string, what: string, name: string, other: YamlFile | undefined): PackProblem {
  return {
    code,
    message: `The ${what} \`${name}\` is also in ${other?.path ?? 'another file'}.`,
    advice: 'Keep one of them.',
    place: { in: 'words', name, path: [name], key: true },
  };
}

/** Gives a pack error from compiling the lines and carets of the files. */
export function withPlaces(error: PackError, sources: PackSources): PackError {
  return new PackError(error.problems, reportProblems(error.problems, sources));
}
