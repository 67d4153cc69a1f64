import type { JsonLine } from './json-lines.js';

/** Records of an input as they stand in it, cut where one ends; can be sent to another process. */
export type InputSlice =
  | { readonly kind: 'jsonl'; readonly bytes: Uint8Array; readonly line: number }
  | {
      readonly kind: 'csv';
      readonly bytes: Uint8Array;
      /** The line that the slice begins on, from 1. */
      readonly line: number;
      readonly header: readonly string[];
      readonly delimiter: string;
    }
  | { readonly kind: 'rows'; readonly rows: readonly JsonLine[] };

/** A slice and where it stands. */
export interface PlacedSlice {
  readonly slice: InputSlice;
  /** Its rough cost: bytes. */
  readonly size: number;
  /** The line after it, from 1; in Parquet the row. */
  readonly nextLine: number;
}

/** How an input is cut. */
export interface SliceBounds {
  /** Bytes that a slice comes to before it is cut; a slice waits for no more input than its last record needs. */
  readonly sliceBytes: number;
  /** A longer record is answered with an error and not kept in memory. */
  readonly recordBytes: number;
  /** Records that begin on an earlier line are left out. */
  readonly fromLine: number;
}
