import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import type { Node, Scalar } from 'yaml';
import { describeProblem, type PackPlace, type PackProblem } from '../../engine/rules/pack/pack-error.js';

const require = createRequire(import.meta.url);
/** Loaded when the first file is read: an engine with the core pack alone reads none, and saves 30 ms of its start. */
const loadYaml = (): typeof Yaml => require('yaml') as typeof Yaml;

/** A place in a file: 1-based line and column, both in UTF-16 code units, and how much to underline. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
  readonly length: number;
  readonly text: string;
}

/** A YAML file with the way back from its values to their places. */
export interface YamlFile {
  readonly path: string;
  readonly value: unknown;
  /** Syntax mistakes with their offsets in the file. */
  readonly errors: readonly { readonly message: string; readonly place: FilePlace }[];
  /** Where a value stands. Falls back to the nearest value around it. */
  locate(place: Pick<PackPlace, 'path' | 'at' | 'length' | 'key'>): FilePlace;
}

/** Parses YAML 1.2. Never throws; aliases and duplicate keys are errors. */
export function parseYamlFile(path: string, text: string): YamlFile {
  const { isScalar, LineCounter, parseDocument, visit } = loadYaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });

  const findPlace = (offset: number, length: number): FilePlace => {
    const { line, col } = lines.linePos(offset);
    const start = lines.lineStarts[line - 1] ?? 0;
    const end = text.indexOf('\n', start);
    const shown = text.slice(start, end < 0 ? text.length : end).replace(/\r$/, '');
    return { line, column: col, length: Math.max(1, Math.min(length, shown.length - col + 1)), text: shown };
  };

  const errors = document.errors.map((error) => ({
    message: error.message.replace(/\.$/, ''),
    place: findPlace(Math.min(error.pos[0], Math.max(0, text.length - 1)), error.pos[1] - error.pos[0]),
  }));
  visit(document, {
    // An alias could make a small file huge, and the digest of its content unclear.
    Alias(_, node) {
      errors.push({ message: 'Aliases are not allowed', place: findPlace(node.range?.[0] ?? 0, 1) });
    },
  });

  return {
    path,
    value: errors.length > 0 ? undefined : document.toJS(),
    errors,
    locate({ path: steps, at, length, key }) {
      const node = find(document.contents, steps, key === true);
      const [start, end] = node?.range ?? [0, 1];
      if (at === undefined || !isScalar(node)) return findPlace(start, end - start);
      const from = start + sourceOffset(text.slice(start, end), node, at);
      const to = start + sourceOffset(text.slice(start, end), node, at + (length ?? 1));
      return findPlace(from, to - from);
    },
  };
}

/** The node at a path; a map's key where the path names a key that has no node of its own; else the nearest ancestor. */
function find(root: Node | null, steps: readonly (string | number)[], key: boolean): Node | null {
  const { isMap, isNode, isScalar } = loadYaml();
  let node = root;
  for (const [index, step] of steps.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (!pair) return node;
      const last = index === steps.length - 1;
      const next = isNode(pair.value) ? pair.value : null;
      if (last && (key || !isScalar(next))) return isNode(pair.key) ? pair.key : node;
      if (!next) return node;
      node = next;
    } else if (node && 'items' in node) {
      const next = (node.items as readonly unknown[])[Number(step)];
      if (!isNode(next)) return node;
      node = next;
    } else return node;
  }
  return node;
}

/** Offset in the file's text of a character of a scalar's value. Block scalars: their start. */
function sourceOffset(source: string, node: Scalar, at: number): number {
  if (node.type === 'PLAIN') return at;
  if (node.type !== 'QUOTE_SINGLE' && node.type !== 'QUOTE_DOUBLE') return 0;
  let i = 1;
  for (let count = 0; count < at && i < source.length; count++) i += written(source, i, node.type);
  return i;
}

/** How many characters of the file stand for the one at `i`. */
function written(source: string, i: number, type: 'QUOTE_SINGLE' | 'QUOTE_DOUBLE'): number {
  if (type === 'QUOTE_SINGLE') return source.startsWith("''", i) ? 2 : 1;
  if (source[i] !== '\\') return 1;
  return { x: 4, u: 6, U: 10 }[source[i + 1] ?? ''] ?? 2;
}

/** The files a pack was read from, by what they hold. */
export interface PackSources {
  fileOf(problem: PackProblem): YamlFile | undefined;
}

/** Shows problems as a compiler does: code, file, line, column, the line with a caret, and what to write instead. */
export function reportProblems(problems: readonly PackProblem[], sources: PackSources): string {
  const reports = problems.map((problem) => {
    const file = sources.fileOf(problem);
    return file ? formatProblem(problem, file.path, file.locate(problem.place)) : `${describeProblem(problem)}\n`;
  });
  return reports.join('\n');
}

/** Characters of a line that are shown before and after the place of a problem: a line may hold thousands of problems. */
const SHOWN_AROUND = 200;

/** One problem at one place in a file. */
export function formatProblem(
  problem: { readonly code: string; readonly message: string; readonly advice: string },
  path: string,
  place: FilePlace,
): string {
  const number = String(place.line);
  const margin = ' '.repeat(number.length);
  const at = place.column - 1;
  const shown = place.text.slice(Math.max(0, at - SHOWN_AROUND), at + SHOWN_AROUND);
  // Tabs stay tabs, so that the caret is in the right column at any tab width.
  const lead = shown.slice(0, Math.min(at, SHOWN_AROUND)).replace(/[^\t]/g, ' ');
  return [
    `error[${problem.code}]: ${problem.message}`,
    `${margin}--> ${path}:${place.line}:${place.column}`,
    `${margin} |`,
    `${number} | ${shown}`,
    `${margin} | ${lead}${'^'.repeat(Math.min(place.length, SHOWN_AROUND))}`,
    `${margin} = help: ${problem.advice}`,
    '',
  ].join('\n');
}
