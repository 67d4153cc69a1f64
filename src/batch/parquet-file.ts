import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { flat, outputColumns } from './encode-row.js';
import { jsonLines } from './json-lines.js';

const ROW_GROUP = 50_000;
const NUMBERS: ReadonlySet<string> = new Set(['confidence', 'score', 'threshold', 'ml_threshold']);
const INTEGERS: ReadonlySet<string> = new Set(['latency_ms', 'line']);

/** Writes the rows of a JSON Lines file as Parquet, a row group at a time; ids, kept and nested values as strings. */
export async function writeParquet(
  rowsFile: string,
  out: string,
  keep: readonly string[],
  findings: boolean,
): Promise<void> {
  const columns = outputColumns(keep, findings);
  await rm(out, { force: true });
  const schema: readonly SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map((name): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...typeOf(name) })),
  ];
  const writer = fileWriter(out);
  const parquet = new ParquetWriter({ writer, schema: [...schema] });
  let rows: Readonly<Record<string, unknown>>[] = [];
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const columnData = columns.map((name) => ({ name, data: rows.map((row) => cell(name, row[name])) }));
    await parquet.write({ columnData, rowGroupSize: ROW_GROUP });
    rows = [];
  };
  for await (const { content } of jsonLines(createReadStream(rowsFile), Number.MAX_SAFE_INTEGER)) {
    if ('error' in content) throw new Error('a row that was written can no longer be read');
    rows.push(content.value as Readonly<Record<string, unknown>>);
    if (rows.length >= ROW_GROUP) await flush();
  }
  await flush();
  await parquet.finish();
}

function typeOf(name: string): Pick<SchemaElement, 'type' | 'converted_type'> {
  if (NUMBERS.has(name)) return { type: 'DOUBLE' };
  if (INTEGERS.has(name)) return { type: 'INT32' };
  return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
}

function cell(name: string, value: unknown): unknown {
  return NUMBERS.has(name) || INTEGERS.has(name) ? value : flat(value);
}
