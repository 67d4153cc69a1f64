import { existsSync, readFileSync } from 'node:fs';
import { type Overlay, overlaySchema } from '../../engine/rules/pack/overlay-schema.js';
import { PackError, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import { schemaProblems } from '../../engine/rules/pack/schema-problems.js';
import { formatProblem } from './pack-report.js';
import { parseYamlFile, type YamlFile } from './pack-yaml.js';

/** An overlay with the file it came from. */
export interface OverlayFile {
  readonly name: string;
  readonly overlay: Overlay;
  readonly file: YamlFile;
}

/** Reads a local overlay file. @throws PackError with every mistake and its place */
export function readOverlay(path: string): OverlayFile {
  if (!existsSync(path))
    throw new PackError([problem(path, 'PACK006', `There is no overlay ${path}.`, 'Check the name.')]);
  const file = parseYamlFile(path, readFileSync(path, 'utf8'));
  const syntax = file.errors.map(({ message, place }) => ({
    problem: problem(path, 'PACK001', `Not YAML: ${message}.`, 'Correct the syntax.'),
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

function problem(name: string, code: string, message: string, advice: string): PackProblem {
  return { code, message, advice, place: { in: 'overlay', name, path: [] } };
}
