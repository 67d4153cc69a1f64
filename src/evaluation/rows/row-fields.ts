import { createHash } from 'node:crypto';
import { type LabelledText, readLabel } from './labelled-text.js';

/** Which fields of a row hold what. What is left out is looked for under its usual names. */
export interface FieldNames {
  readonly text?: string | undefined;
  readonly label?: string | undefined;
  readonly source?: string | undefined;
  readonly group?: string | undefined;
  readonly language?: string | undefined;
  readonly together?: string | undefined;
}

type Row = Readonly<Record<string, unknown>>;

const usual = {
  text: ['text', 'input', 'prompt', 'content'],
  label: ['label'],
  source: ['source'],
  group: ['group', 'kind', 'category'],
  language: ['language', 'lang'],
  together: ['pair', 'together'],
} as const;

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldOf = (row: Row, given: string | undefined, names: readonly string[]): unknown => {
  const name = given ?? names.find((one) => Object.hasOwn(row, one));
  return name !== undefined && Object.hasOwn(row, name) ? row[name] : undefined;
};

/** A cell's text; undefined where there is none, null where it was masked or hashed. */
const textOf = (value: unknown, row: Row): string | null | undefined => {
  if (isRow(value)) {
    if (value.kept === undefined) return undefined;
    return value.kept === 'whole' && typeof value.text === 'string' ? value.text : null;
  }
  if (typeof value !== 'string') return undefined;
  // A CSV export holds the digest of what was screened: a masked text has another one, and a spreadsheet's
  // apostrophe before a formula comes off.
  if (typeof row.sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(row.sha256)) return value;
  const whole = [value, value.replace(/^'/, '')].find((text) => digest(text) === row.sha256);
  return whole ?? null;
};

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const recordedOf = (row: Row): LabelledText['recorded'] => {
  const verdict = isRow(row.verdict) ? row.verdict.verdict : row.verdict;
  return verdict === 'allow' || verdict === 'block' ? verdict : undefined;
};

const wordOf = (value: unknown, otherwise: string): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;

/** Why a row can't be used, in plain words; never quotes the row. */
export type RowFault = 'not an object' | 'no text' | 'not kept whole' | 'unknown label';

/** A row as a labelled text. A record of the dashboard whose input was masked or hashed wasn't kept whole. */
export const readRow = (
  row: unknown,
  place: { readonly id: string; readonly source: string },
  names: FieldNames,
): LabelledText | RowFault => {
  if (!isRow(row)) return 'not an object';
  const text = textOf(fieldOf(row, names.text, usual.text), row);
  if (text === undefined) return 'no text';
  if (text === null) return 'not kept whole';
  const label = readLabel(fieldOf(row, names.label, usual.label));
  if (label === 'unknown') return 'unknown label';
  return {
    id: wordOf(row.id, place.id),
    text,
    label,
    source: wordOf(fieldOf(row, names.source, usual.source), place.source),
    group: wordOf(fieldOf(row, names.group, usual.group), 'none'),
    language: wordOf(fieldOf(row, names.language, usual.language), 'unknown'),
    together: wordOf(fieldOf(row, names.together, usual.together), '') || undefined,
    recorded: recordedOf(row),
  };
};
