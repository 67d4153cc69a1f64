import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

/** The rows of an output file, whatever its format; a value of CSV is text. */
export async function readRows(file: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (file.endsWith('.parquet')) return parquetReadObjects({ file: await asyncBufferFromFile(file) });
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  if (file.includes('.csv')) return parse(text, { columns: true });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
