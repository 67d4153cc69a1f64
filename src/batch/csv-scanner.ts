import type { RecordScanner } from './record-slices.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** Finds the ends of CSV records as csv-parse does with `relax_quotes`. */
export interface CsvScanner extends RecordScanner {
  /** What ends a record: the first line end outside quotes decides. `\n` until one was seen. */
  delimiter(): string;
}

/** Makes a scanner. A quote opens a field only where the field begins. */
export function csvScanner(): CsvScanner {
  let delimiter: '\n' | '\r\n' | '\r' | undefined;
  let state: 'start' | 'plain' | 'quoted' | 'quote-in-quoted' = 'start';
  let afterCr = false;
  let lineEnds = 0;

  /** True where the record ends with this byte; `state` isn't `quoted`. */
  function endsRecord(byte: number | undefined): boolean {
    if (byte === LF) {
      delimiter ??= afterCr ? '\r\n' : '\n';
      return delimiter === '\n' || (delimiter === '\r\n' && afterCr);
    }
    return byte === CR && delimiter === '\r';
  }

  return {
    end(chunk, from) {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (afterCr && delimiter === undefined && byte !== LF) {
          // A line end that is CR alone: the record ended before this byte.
          delimiter = '\r';
          afterCr = false;
          lineEnds += 1;
          state = 'start';
          return at;
        }
        if (byte === (delimiter === '\r' ? CR : LF)) lineEnds += 1;
        if (state === 'quoted') {
          if (byte === QUOTE) state = 'quote-in-quoted';
          continue;
        }
        const ends = endsRecord(byte);
        afterCr = byte === CR;
        if (ends) {
          state = 'start';
          return at + 1;
        }
        if (byte === QUOTE && state !== 'plain') state = 'quoted';
        else state = byte === COMMA ? 'start' : 'plain';
      }
      return -1;
    },
    lineEnds: () => lineEnds,
    delimiter: () => delimiter ?? '\n',
  };
}
