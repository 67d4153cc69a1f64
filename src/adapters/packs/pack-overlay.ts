import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { type Overlay, type OverlayAllowance, overlaySchema } from '../../engine/rules/pack/overlay-schema.js';
import { PackError, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import { schemaProblems } from '../../engine/rules/pack/schema-problems.js';

import { formatProblem, parseYamlFile, type YamlFile } from './pack-yaml.js';

export interface OverlayFile {
  readonly name: string;
  readonly overlay: Overlay;
  readonly file: YamlFile;
}

/** Reads a local overlay file. @throws PackError with every mistake and its place */
export function readOverlay(path: string): OverlayFile {
  if (!existsSync(path))
    throw new PackError([problem(path, 'PACK006', `The overlay ${path} does not exist.`, 'Check the name.')]);
  return parseOverlay(path, readFileSync(path, 'utf8'));
}

/** Reads an overlay out of YAML. `path` is what problems call it by. @throws PackError with every mistake and its place */
export function parseOverlay(path: string, text: string): OverlayFile {
  const file = parseYamlFile(path, text);
  const syntax = file.errors.map(({ message, place }) => ({
    problem: problem(path, 'PACK001', `Invalid YAML: ${message}.`, 'Correct the syntax.'),
    place,
  }));
  const parsed = overlaySchema.safeParse(file.value ?? {});
  if (syntax.length === 0 && parsed.success) return { name: path, overlay: parsed.data, file };
  const shape = parsed.success ? [] : schemaProblems(parsed.error, { in: 'overlay', name: path });
  const all = [...syntax, ...shape.map((one) => ({ problem: one, place: file.locate(one.place) }))];
  throw new PackError(
    all.map((one) => one.problem),
    all.map((one) => formatProblem(one.problem, path, one.place)).join('\n'),
  );
}

/** A change to an overlay's file. What is left out stays; null takes it out. */
export interface OverlayEdit {
  readonly threshold?: number | null | undefined;
  readonly operatingPoint?: string | null | undefined;
  readonly allow?: OverlayAllowance | undefined;
}

/** The YAML of an overlay with a change made; comments and the order of its fields stay. */
export function editOverlay(source: string, { threshold, operatingPoint, allow }: OverlayEdit): string {
  const { isMap, isSeq, parseDocument } = createRequire(import.meta.url)('yaml') as typeof Yaml;
  const parsed = parseDocument(source);
  const document = isMap(parsed.contents) ? parsed : parseDocument('{}');
  if (isMap(document.contents)) document.contents.flow = false;
  const set = (name: string, value: number | string | null | undefined): void => {
    if (value === null) document.delete(name);
    else if (value !== undefined) document.set(name, value);
  };
  set('threshold', threshold);
  set('operating_point', operatingPoint);
  // The two can't stand together.
  if (typeof operatingPoint === 'string') document.delete('model_threshold');
  if (allow !== undefined) {
    const list = document.get('allow');
    if (isSeq(list)) list.add(document.createNode(allow));
    else document.set('allow', document.createNode([allow]));
  }
  return isMap(document.contents) && document.contents.items.length === 0 ? '' : document.toString({ lineWidth: 0 });
}

function problem(name: string, code: string, message: string, advice: string): PackProblem {
  return { code, message, advice, place: { in: 'overlay', name, path: [] } };
}
