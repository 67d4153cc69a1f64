import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { overlaySchema, type Overlay } from '../engine/rules/overlay-schema.js';
import { PackError, type PackProblem } from '../engine/rules/pack-error.js';
import { schemaProblems } from '../engine/rules/schema-problems.js';
import { type PackContent, stackPacks, type StackedPack } from '../engine/rules/stack-packs.js';
import { readPackBundle } from './pack-bundle.js';
import { readPackFolder } from './pack-folder.js';
import { formatProblem, type PackSources } from './pack-report.js';
import { parseYamlFile, type YamlFile } from './pack-yaml.js';

export interface LoadOptions {
  /**
   * Packs from the bottom up, each a folder, a bundle (`*.json`) or the name of an npm package whose root, or the
   * folder that its `portcullis.pack` names, is a pack. Default: the pack that comes with the library.
   */
  readonly packs?: readonly string[] | undefined;
  /** Path of a local overlay file (YAML). */
  readonly overlay?: string | undefined;
  /** Today in UTC, `YYYY-MM-DD`: allow-list entries that expired earlier are inactive. */
  readonly today: string;
}

export interface LoadedPack extends StackedPack {
  readonly sources: PackSources;
}

const CORE_BUNDLE = 'core-pack.json';

/**
 * Loads packs and an overlay from files. Reads synchronously: it is done once, at start.
 *
 * @throws PackError with every mistake, each with its file, line and a caret
 */
export function loadPack(options: LoadOptions): LoadedPack {
  const parts = (options.packs ?? [corePackPath()]).map(readPack);
  const overlay = options.overlay === undefined ? undefined : readOverlay(options.overlay);
  const sources: PackSources = {
    fileOf: (problem) =>
      problem.place.in === 'overlay'
        ? overlay?.file
        : parts.map((part) => part.sources?.fileOf(problem)).find((file) => file !== undefined),
  };
  const stacked = stackPacks(
    parts.map((part) => part.content),
    { overlay: overlay?.value, today: options.today, sha256 },
  );
  return { ...stacked, sources };
}

interface PackPart {
  readonly content: PackContent;
  readonly sources?: PackSources;
}

function readPack(name: string): PackPart {
  if (name.endsWith('.json')) return { content: readPackBundle(name) };
  if (existsSync(name) && statSync(name).isDirectory()) return readPackFolder(name);
  return readPackFolder(packageFolder(name));
}

/** Where the pack that comes with the library lies: the bundle of a built library, else the folder it is made from. */
export function corePackPath(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const path of [join(folder, CORE_BUNDLE), join(folder, 'rules', 'core')]) if (existsSync(path)) return path;
    if (dirname(folder) === folder) throw missing('The core pack');
  }
}

function packageFolder(name: string): string {
  for (let folder = resolve('.'); ; folder = dirname(folder)) {
    const root = join(folder, 'node_modules', name);
    if (existsSync(join(root, 'package.json'))) {
      const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { portcullis?: { pack?: string } };
      return join(root, manifest.portcullis?.pack ?? '.');
    }
    if (dirname(folder) === folder) throw missing(`The pack \`${name}\``);
  }
}

function readOverlay(path: string): { readonly value: Overlay; readonly file: YamlFile } {
  if (!existsSync(path)) throw missing(`The overlay ${path}`);
  const file = parseYamlFile(path, readFileSync(path, 'utf8'));
  const syntax = file.errors.map(({ message, place }) => ({
    problem: overlayProblem('PACK001', `Not YAML: ${message}.`, 'Correct the syntax.'),
    place,
  }));
  const parsed = overlaySchema.safeParse(file.value ?? {});
  if (syntax.length === 0 && parsed.success) return { value: parsed.data, file };
  const shape = parsed.success ? [] : schemaProblems(parsed.error, { in: 'overlay', name: '' });
  const all = [...syntax, ...shape.map((problem) => ({ problem, place: file.locate(problem.place) }))];
  throw new PackError(
    all.map(({ problem }) => problem),
    all.map(({ problem, place }) => formatProblem(problem, path, place)).join('\n'),
  );
}

const overlayProblem = (code: string, message: string, advice: string): PackProblem => ({
  code,
  message,
  advice,
  place: { in: 'overlay', name: '', path: [] },
});

function missing(what: string): PackError {
  const message = `${what} isn't there.`;
  return new PackError([
    { code: 'PACK006', message, advice: 'Check the name.', place: { in: 'pack', name: '', path: [] } },
  ]);
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
