import { basename } from 'node:path';
import { findInputs, type InputFile, readSlices, sliceRows } from '../../batch/formats/input-files.js';
import type { JsonLine } from '../../batch/record-slices.js';
import { type FieldNames, type LabelledText, type RowFault, readRow } from './labelled-text.js';

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
const MOST_MISTAKES = 20;

/** Bytes of rows that are read at once. */
const SLICE_BYTES = 2 ** 18;

/** Reads the rows of a file, whatever its format. @throws BatchError */
async function* readRows(file: InputFile): AsyncGenerator<JsonLine> {
  const slices = readSlices([file], { format: 'jsonl', sliceBytes: SLICE_BYTES, from: { file: 0, line: 1 } });
  for await (const { slice } of slices) yield* sliceRows(slice);
}

/**
 * Reads labelled texts as `portcullis batch` reads rows: JSON Lines, CSV, TSV or Parquet by the file's name, plain or
 * compressed; anything else is JSON Lines.
 * @throws BatchError naming a file that can't be read
 */
export async function readLabelled(patterns: readonly string[], names: FieldNames = {}): Promise<ReadTexts> {
  const texts: LabelledText[] = [];
  const leftOut: Partial<Record<RowFault | 'not JSON', number>> = {};
  const mistakes: RowMistake[] = [];
  const seen = new Set<string>();
  for (const file of await findInputs(patterns)) {
    if (seen.has(file.path)) continue;
    seen.add(file.path);
    const name = basename(file.path);
    const source = name.replace(/(\.[a-z]+)?(\.(gz|zst))?$/i, '') || name;
    for await (const { line, content } of readRows(file)) {
      const read = 'error' in content ? 'not JSON' : readRow(content.value, { id: `${name}:${line}`, source }, names);
      if (typeof read !== 'string') {
        texts.push(read);
        continue;
      }
      leftOut[read] = (leftOut[read] ?? 0) + 1;
      if (read !== 'not kept whole' && mistakes.length < MOST_MISTAKES)
        mistakes.push({ file: name, line, fault: read });
    }
  }
  return { texts, leftOut, mistakes };
}
