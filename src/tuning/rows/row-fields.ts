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

/** The text of a cell: a string, or the input of an evidence record that was kept whole. */
const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  if (!isRow(value)) return undefined;
  const kept = value.kept ?? value.keep ?? value.form ?? 'whole';
  const inner = value.text ?? value.value ?? value.content;
  return kept === 'whole' && typeof inner === 'string' ? inner : undefined;
};

const recordedOf = (row: Row): LabelledText['recorded'] => {
  const verdict = isRow(row.verdict) ? row.verdict.verdict : row.verdict;
  return verdict === 'allow' || verdict === 'block' ? verdict : undefined;
};

const wordOf = (value: unknown, otherwise: string): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;

/** Why a row can't be used, in plain words; never quotes the row. */
export type RowFault = 'not an object' | 'no text' | 'unknown label';

/** A row as a labelled text. A record of the dashboard whose input was masked or hashed has no text. */
export const readRow = (
  row: unknown,
  place: { readonly id: string; readonly source: string },
  names: FieldNames,
): LabelledText | RowFault => {
  if (!isRow(row)) return 'not an object';
  const masked =
    row.input_kept === 'masked' || row.input_kept === 'hash' || row.kept === 'masked' || row.kept === 'hash';
  const text = masked ? undefined : textOf(fieldOf(row, names.text, usual.text));
  if (text === undefined) return 'no text';
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
