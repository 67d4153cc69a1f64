import { createReadStream } from 'node:fs';
import { basename, extname } from 'node:path';
import { parse } from 'csv-parse';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { glob, isDynamicPattern } from 'tinyglobby';
import { TuningError } from '../tuning-error.js';
import type { LabelledText } from './labelled-text.js';
import { type FieldNames, type RowFault, readRow } from './row-fields.js';

/** Texts read, and what could not be used. */
export interface ReadTexts {
  readonly texts: readonly LabelledText[];
  /** Rows left out, by reason. */
  readonly leftOut: Readonly<Partial<Record<RowFault | 'not JSON', number>>>;
}

async function* linesOf(file: string): AsyncGenerator<unknown> {
  let rest = '';
  const parsed = (line: string): unknown => {
    try {
      return JSON.parse(line);
    } catch {
      return undefined;
    }
  };
  for await (const chunk of createReadStream(file, 'utf8')) {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line.trim() !== '') yield parsed(line);
  }
  if (rest.trim() !== '') yield parsed(rest);
}

async function* rowsOf(file: string): AsyncGenerator<unknown> {
  const kind = extname(file).toLowerCase();
  if (kind === '.csv' || kind === '.tsv') {
    const options = { columns: true, bom: true, relax_column_count: true, delimiter: kind === '.tsv' ? '\t' : ',' };
    yield* createReadStream(file).pipe(parse(options));
  } else if (kind === '.parquet') {
    yield* await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  } else {
    yield* linesOf(file);
  }
}

/** Files by name or pattern, each once. @throws TuningError for a pattern that fits none */
const filesOf = async (patterns: readonly string[]): Promise<readonly string[]> => {
  const found = await Promise.all(
    patterns.map(async (pattern) => {
      if (!isDynamicPattern(pattern)) return [pattern];
      const files = await glob(pattern, { absolute: false });
      if (files.length === 0) throw new TuningError(`No file fits ${pattern}.`);
      return files.sort();
    }),
  );
  return [...new Set(found.flat())];
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';

/**
 * Reads labelled texts from JSON Lines, CSV, TSV or Parquet files, by their names' ends; anything else is JSON Lines.
 * @throws TuningError naming a file that can't be read
 */
export const readLabelled = async (patterns: readonly string[], names: FieldNames = {}): Promise<ReadTexts> => {
  const texts: LabelledText[] = [];
  const leftOut: Partial<Record<RowFault | 'not JSON', number>> = {};
  for (const file of await filesOf(patterns)) {
    const source = basename(file, extname(file));
    let number = 0;
    try {
      for await (const row of rowsOf(file)) {
        number += 1;
        const read =
          row === undefined ? 'not JSON' : readRow(row, { id: `${basename(file)}:${number}`, source }, names);
        if (typeof read === 'string') leftOut[read] = (leftOut[read] ?? 0) + 1;
        else texts.push(read);
      }
    } catch (error) {
      throw new TuningError(`Can't read ${file}: ${codeOf(error)}.`);
    }
  }
  return { texts, leftOut };
};
