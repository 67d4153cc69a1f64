import { verdictFields } from '../engine/verdict.js';
import type { ExplainedFinding, ExplainedVerdict, Input, Verdict } from '../index.js';
import { fieldPath } from './field-path.js';
import type { JsonLine } from './json-lines.js';

/** A rule's finding as it stands in an output row: without the excerpt, which quotes the text. */
export type RowFinding = Omit<ExplainedFinding, 'excerpt'>;

/** One row of the output: a verdict, or why there is none. */
export type AnsweredRow =
  | ({ readonly id: unknown; readonly findings?: readonly RowFinding[] } & Verdict & Readonly<Record<string, unknown>>)
  | { readonly id: unknown; readonly line: number; readonly error: string; readonly [kept: string]: unknown };

/** Which fields of a row mean what. */
export interface RowFields {
  /** Name or path of the field that holds the text; default `text`. */
  readonly textField?: string | undefined;
  /** Name or path of the field that names the row; default the field `id` where there is one, else the line. */
  readonly idField?: string | undefined;
  /** Fields that are copied into the output. */
  readonly keep?: readonly string[] | undefined;
}

/** A row read: what is to be scored, or the answer already. */
export type ReadRow =
  | {
      readonly input: Input;
      readonly size: number;
      readonly id: unknown;
      readonly kept: Readonly<Record<string, unknown>>;
    }
  | { readonly answer: AnsweredRow };

/** Makes the reader of rows. */
export function rowReader(fields: RowFields): (line: JsonLine) => ReadRow {
  const text = fieldPath(fields.textField ?? 'text');
  const id = fieldPath(fields.idField ?? 'id');
  const keep = (fields.keep ?? []).map((name) => [name, fieldPath(name)] as const);

  return ({ line, content }) => {
    const bad = (error: string, name: unknown = null): ReadRow => ({ answer: { id: name, line, error } });
    if ('error' in content) return bad(content.error);
    const row = content.value;
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return bad('not a JSON object');
    const record = row as Readonly<Record<string, unknown>>;
    const named = id(record);
    if (named === undefined && fields.idField !== undefined) return bad(`no field "${fields.idField}"`);
    const name = named === undefined ? line : named;
    const input = text(record);
    if (input === undefined) return bad(`no field "${fields.textField ?? 'text'}"`, name);
    const kept = Object.fromEntries(keep.map(([field, read]) => [field, read(record) ?? null]));
    // The value came out of JSON. Anything but a string is screened as its JSON text.
    return { input: input as Input, size: typeof input === 'string' ? input.length : 1_024, id: name, kept };
  };
}

/** An output row of a verdict. */
export function rowOf(row: Extract<ReadRow, { input: Input }>, verdict: Verdict | ExplainedVerdict): AnsweredRow {
  if (!('explanation' in verdict)) return { id: row.id, ...row.kept, ...verdict };
  const { explanation, ...rest } = verdict;
  const findings = explanation.findings.map(({ excerpt: _quotes, ...finding }) => finding);
  return { id: row.id, ...row.kept, ...rest, findings };
}

/** Fields of the output that `keep` may not name. */
export const OWN_FIELDS: ReadonlySet<string> = new Set(['id', 'line', 'error', 'findings', ...verdictFields]);
