import { stringify } from 'csv-stringify/sync';
import { verdictFields } from '../engine/verdict.js';
import type { AnsweredRow } from './answer-row.js';

/** The columns of a table of output rows, in their order. */
export function outputColumns(keep: readonly string[], findings: boolean): readonly string[] {
  return ['id', ...keep, ...verdictFields, ...(findings ? ['findings'] : []), 'line', 'error'];
}

/** Turns rows into the text of a file. */
export interface RowEncoder {
  /** What stands before the first row. */
  readonly head: string;
  encode(rows: readonly AnsweredRow[]): string;
}

/** One JSON object a line. */
export const jsonLinesEncoder: RowEncoder = {
  head: '',
  encode: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
};

/** CSV with a header line; an absent value is an empty field, a nested one its JSON text. */
export function csvEncoder(columns: readonly string[]): RowEncoder {
  const table = (rows: readonly AnsweredRow[]): readonly (readonly unknown[])[] =>
    rows.map((row) => columns.map((column) => flat((row as Readonly<Record<string, unknown>>)[column])));
  return {
    head: stringify([[...columns]]),
    encode: (rows) => stringify(table(rows).map((row) => [...row])),
  };
}

/** A value as text for a column of strings; undefined for none. */
export function flat(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
