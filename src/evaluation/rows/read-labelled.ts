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
  /** The first of the rows that hold a mistake; records that were masked or hashed are none. */
  readonly mistakes: readonly RowMistake[];
}

/** A row that can't be used, and why. */
export interface RowMistake {
  /** The file's name, without folders. */
  readonly file: string;
  /** Counted from 1; in Parquet the row. */
  readonly line: number;
  readonly fault: RowFault | 'not JSON';
}

/** Mistakes that are listed at most. */
const mostMistakes = 20;

interface NumberedRow {
  readonly line: number;
  /** Undefined for a line that isn't JSON. */
  readonly row: unknown;
}

async function* linesOf(file: string): AsyncGenerator<NumberedRow> {
  let rest = '';
  let line = 0;
  const parsed = (content: string): unknown => {
    try {
      return JSON.parse(content);
    } catch {
      return undefined;
    }
  };
  for await (const chunk of createReadStream(file, 'utf8')) {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const content of parts) {
      line += 1;
      if (content.trim() !== '') yield { line, row: parsed(content) };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, row: parsed(rest) };
}

async function* rowsOf(file: string): AsyncGenerator<NumberedRow> {
  const kind = extname(file).toLowerCase();
  if (kind === '.csv' || kind === '.tsv') {
    const delimiter = kind === '.tsv' ? '\t' : ',';
    const options = { columns: true, bom: true, relax_column_count: true, info: true, delimiter };
    for await (const { record, info } of createReadStream(file).pipe(parse(options)))
      yield { line: info.lines, row: record };
  } else if (kind === '.parquet') {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
    for (const [i, row] of rows.entries()) yield { line: i + 1, row };
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

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return error instanceof Error && 'lines' in error ? `${code} at line ${error.lines}` : code;
};

/**
 * Reads labelled texts from JSON Lines, CSV, TSV or Parquet files, by their names' ends; anything else is JSON Lines.
 * @throws TuningError naming a file that can't be read
 */
export const readLabelled = async (patterns: readonly string[], names: FieldNames = {}): Promise<ReadTexts> => {
  const texts: LabelledText[] = [];
  const leftOut: Partial<Record<RowFault | 'not JSON', number>> = {};
  const mistakes: RowMistake[] = [];
  for (const file of await filesOf(patterns)) {
    const source = basename(file, extname(file));
    const name = basename(file);
    try {
      for await (const { line, row } of rowsOf(file)) {
        const read = row === undefined ? 'not JSON' : readRow(row, { id: `${name}:${line}`, source }, names);
        if (typeof read !== 'string') {
          texts.push(read);
          continue;
        }
        leftOut[read] = (leftOut[read] ?? 0) + 1;
        if (read !== 'not kept whole' && mistakes.length < mostMistakes)
          mistakes.push({ file: name, line, fault: read });
      }
    } catch (error) {
      throw new TuningError(`Can't read ${file}: ${reasonOf(error)}.`);
    }
  }
  return { texts, leftOut, mistakes };
};
