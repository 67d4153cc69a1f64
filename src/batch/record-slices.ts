export interface JsonLine {
  /** Counted from 1; blank lines count too. */
  readonly line: number;
  /** The parsed value, or an error message. */
  readonly content: { readonly value: unknown } | { readonly error: string };
}

/** Records of an input as they stand in it, cut where one ends; can be sent to another process. */
export type InputSlice =
  | { readonly kind: 'jsonl'; readonly bytes: Uint8Array; readonly line: number }
  | {
      readonly kind: 'csv';
      readonly bytes: Uint8Array;
      /** The line that the slice begins on, from 1. */
      readonly line: number;
      readonly header: readonly string[];
      /** Between two fields. */
      readonly separator: string;
      /** Between two records. */
      readonly delimiter: string;
    }
  | { readonly kind: 'rows'; readonly rows: readonly JsonLine[] };

export interface PlacedSlice {
  readonly slice: InputSlice;
  /** Its rough cost: bytes. */
  readonly size: number;
  /** The line after it, from 1; in Parquet the row. */
  readonly nextLine: number;
}

export interface SliceBounds {
  /** Size in bytes at which a slice is cut; a slice waits for no more input than its last record needs. */
  readonly sliceBytes: number;
  /** A longer record becomes a row with an error and is not kept in memory. */
  readonly recordBytes: number;
  /** Records that begin on an earlier line are left out. */
  readonly fromLine: number;
}

/** Finds where records end. Asked for one chunk after another, each from where the last record ended. */
export interface RecordScanner {
  /** One past the end of the record that `from` lies in; -1 if it continues in the next chunk. */
  end(chunk: Buffer, from: number): number;
  /** Line ends passed so far. */
  lineEnds(): number;
}

/** Whole records, or one that is longer than it may be. */
export type RecordSlice = { readonly line: number; readonly nextLine: number } & (
  | { readonly bytes: Buffer }
  | { readonly tooLong: true }
);

/**
 * Cuts chunks of bytes into slices of whole records, in order. Holds one chunk and one record at a time.
 * `firstAlone`: the first slice is one record, which is never left out.
 */
// Long: one pass over the chunks; `take` and `leave` change the state of its loop.
export async function* sliceRecords(
  chunks: AsyncIterable<Buffer>,
  scanner: RecordScanner,
  { sliceBytes, recordBytes, fromLine, firstAlone = false }: SliceBounds & { readonly firstAlone?: boolean },
): AsyncGenerator<RecordSlice> {
  /** The start of the next slice, from chunks before. */
  let lead: Buffer[] = [];
  let leadBytes = 0;
  /** Bytes of the current record in earlier chunks. */
  let before = 0;
  let sliceLine = 1;
  let line = 1;
  let first = firstAlone;
  /** Whether there are records between the last slice and the current record. */
  let whole = false;

  const take = (chunk: Buffer, from: number, end: number): RecordSlice => {
    const rest = chunk.subarray(from, end);
    const slice = { bytes: lead.length > 0 ? Buffer.concat([...lead, rest]) : rest, line: sliceLine, nextLine: line };
    leave();
    first = false;
    return slice;
  };
  const leave = (): void => {
    lead = [];
    leadBytes = 0;
    sliceLine = line;
    whole = false;
  };

  for await (const chunk of chunks) {
    /** Everything before it has been passed on. */
    let cut = 0;
    let from = 0;
    for (let end = scanner.end(chunk, 0); end >= 0; end = scanner.end(chunk, end)) {
      const tooLong = before + end - from > recordBytes;
      const leftOut = line < fromLine && !first;
      if (tooLong || leftOut) {
        if (whole) yield take(chunk, cut, from);
        const nextLine = 1 + scanner.lineEnds();
        if (line >= fromLine) yield { tooLong: true, line, nextLine };
        line = nextLine;
        leave();
        cut = end;
      } else {
        line = 1 + scanner.lineEnds();
        whole = true;
        if (first || leadBytes + end - cut >= sliceBytes) {
          yield take(chunk, cut, end);
          cut = end;
        }
      }
      before = 0;
      from = end;
    }
    if (whole) yield take(chunk, cut, from);
    before += chunk.length - from;
    if (before > recordBytes) leave();
    else if (from < chunk.length) {
      lead.push(chunk.subarray(from));
      leadBytes += chunk.length - from;
    }
  }
  if (before === 0 || (line < fromLine && !first)) return;
  const nextLine = 1 + scanner.lineEnds() + 1;
  if (before > recordBytes) yield { tooLong: true, line, nextLine };
  else {
    line = nextLine;
    yield take(Buffer.alloc(0), 0, 0);
  }
}
