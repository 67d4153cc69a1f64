import { stringify } from 'csv-stringify/sync';
import { ALL_CHANNELS, type Channel, isChannel } from '../engine/channel.js';
import type { ExplainedFinding, ExplainedVerdict } from '../engine/explain.js';
import type { Input } from '../engine/input.js';
import { visibleText } from '../engine/text/visible-text.js';
import { type Verdict, verdictFields } from '../engine/verdict.js';
import type { JsonLine } from './record-slices.js';

/** A rule's finding as it stands in an output row: without what quotes the text. */
export type RowFinding = Omit<ExplainedFinding, 'excerpt' | 'read_as'>;

/** One row of the output: a verdict, or an error. */
export type OutputRow =
  | ({ readonly id: unknown; readonly findings?: readonly RowFinding[] } & Verdict & Readonly<Record<string, unknown>>)
  | { readonly id: unknown; readonly line: number; readonly error: string; readonly [kept: string]: unknown };

/** Names of the fields of a row. */
export interface RowFields {
  /** Name or path of the field that holds the text; default `text`. */
  readonly textField?: string | undefined;
  /** Name or path of the field that names the row; default the field `id` where there is one, else the line. */
  readonly idField?: string | undefined;
  /** Name or path of the field that says whose words the text is, where it says so. Default: no row does. */
  readonly channelField?: string | undefined;
  /** Name or path of the field with the task that the user gave the agent, where there is one. Default: no row has one. */
  readonly taskField?: string | undefined;
  /** Fields that are copied into the output. */
  readonly keep?: readonly string[] | undefined;
}

/** A row as read: an input to score, or an output row where it can't be. */
export type ReadRow =
  | {
      readonly input: Input;
      readonly channel: Channel | undefined;
      readonly task: string | undefined;
      readonly size: number;
      readonly id: unknown;
      readonly kept: Readonly<Record<string, unknown>>;
    }
  | { readonly output: OutputRow };

export function rowReader(fields: RowFields): (line: JsonLine) => ReadRow {
  const text = fieldPath(fields.textField ?? 'text');
  const id = fieldPath(fields.idField ?? 'id');
  const channelOf = optionalField(fields.channelField);
  const taskOf = optionalField(fields.taskField);
  const keep = (fields.keep ?? []).map((name) => [name, fieldPath(name)] as const);

  return ({ line, content }) => {
    const bad = (error: string, name: unknown = null): ReadRow => ({ output: { id: name, line, error } });
    if ('error' in content) return bad(content.error);
    const row = content.value;
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return bad('not a JSON object');
    const record = row as Readonly<Record<string, unknown>>;
    const named = id(record);
    if (named === undefined && fields.idField !== undefined) return bad(missingField(fields.idField, record));
    const name = named === undefined ? line : named;
    const input = text(record);
    if (input === undefined) return bad(missingField(fields.textField ?? 'text', record), name);
    const channel = channelOf(record);
    if (channel !== undefined && !isChannel(channel))
      return bad(`the channel is none of ${ALL_CHANNELS.join(', ')}`, name);
    const task = taskOf(record);
    if (task !== undefined && typeof task !== 'string') return bad('the task is not a string', name);
    const kept = Object.fromEntries(keep.map(([field, read]) => [field, read(record) ?? null]));
    // The value came out of JSON. Anything but a string is screened as its JSON text.
    const size = (typeof input === 'string' ? input.length : 1_024) + (task?.length ?? 0);
    return { input: input as Input, channel, task, size, id: name, kept };
  };
}

/** Names of fields that an error lists at most, and their characters. */
const MOST_FIELDS = 12;
const MOST_NAME = 40;

function missingField(wanted: string, row: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(row);
  if (names.length === 0) return `no field "${wanted}": the row has no fields`;
  const listed = names.slice(0, MOST_FIELDS).map((name) => visibleText(name.slice(0, MOST_NAME)));
  const more = names.length > listed.length ? ` and ${names.length - listed.length} more` : '';
  return `no field "${wanted}"; the row has ${listed.join(', ')}${more}`;
}

export function toOutputRow(row: Extract<ReadRow, { input: Input }>, verdict: Verdict | ExplainedVerdict): OutputRow {
  if (!('explanation' in verdict)) return { id: row.id, ...row.kept, ...verdict };
  const { explanation, ...rest } = verdict;
  const findings = explanation.findings.map(({ excerpt: _quotes, read_as: _decoded, ...finding }) => finding);
  return { id: row.id, ...row.kept, ...rest, findings };
}

/** Fields of the output that `keep` may not name. */
export const OWN_FIELDS: ReadonlySet<string> = new Set(['id', 'line', 'error', 'findings', ...verdictFields]);

export type ReadField = (row: Readonly<Record<string, unknown>>) => unknown;

/**
 * A reader for a field: its name, or a path into nested values such as `message.parts[0].text`. A field whose whole
 * name is the path takes precedence. Undefined if there is no such field.
 */
function fieldPath(path: string): ReadField {
  const steps = path
    .replace(/^\$\./, '')
    .split(/\.|\[(\d+)\]/)
    .filter((step) => step !== undefined && step !== '');
  return (row) => {
    if (Object.hasOwn(row, path)) return row[path];
    let value: unknown = row;
    for (const step of steps) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[step];
    }
    return value;
  };
}

function optionalField(path: string | undefined): ReadField {
  const read = path === undefined ? undefined : fieldPath(path);
  return (row) => {
    const value = read?.(row);
    return value === null || value === '' ? undefined : value;
  };
}

/** The top-level field that a path begins with. */
export function topField(path: string): string {
  return path.replace(/^\$\./, '').split(/[.[]/)[0] ?? path;
}

/** The columns of a table of output rows, in their order. */
export function outputColumns(keep: readonly string[], findings: boolean): readonly string[] {
  return ['id', ...keep, ...verdictFields, ...(findings ? ['findings'] : []), 'line', 'error'];
}

/** Turns rows into the text of a file. */
export interface RowEncoder {
  /** Text before the first row. */
  readonly head: string;
  encode(rows: readonly OutputRow[]): string;
}

export const JSON_LINES_ENCODER: RowEncoder = {
  head: '',
  encode: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
};

/** Delimited text with a header line; an absent value is an empty field, a nested one its JSON text. */
export function csvEncoder(columns: readonly string[], delimiter: string): RowEncoder {
  const fields = (row: Readonly<Record<string, unknown>>) => columns.map((column) => flat(row[column]));
  return {
    head: stringify([[...columns]], { delimiter }),
    encode: (rows) => stringify(rows.map(fields), { delimiter }),
  };
}

/** A value as text for a column of strings; undefined for none. */
export function flat(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
