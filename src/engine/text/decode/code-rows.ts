/** Codes that follow one another: where each begins and ends in the text. */
export interface CodeRow {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

export interface CodeRowSyntax {
  /** Returns the end of the code that begins at an offset, or 0. Looks at a bounded part of the text. */
  readonly codeEnd: (text: string, at: number) => number;
  /** True when a row may begin after this code unit (NaN at the start of the text). */
  readonly beginsAfter: (unit: number) => boolean;
  readonly separators: string;
  /** Most separators between two codes. */
  readonly maxGap: number;
  /** Fewer codes are no row. */
  readonly minCodes: number;
}

/** A row may begin this much before a part: with a prefix, or with a code next to a letter of another script. */
const LEAD = 12;

/**
 * Finds the rows of codes in these parts of a text (start, end, in turn; ascending, apart). Each unit is looked at a
 * bounded number of times: no backtracking.
 */
export function findCodeRows(text: string, parts: readonly number[], syntax: CodeRowSyntax): readonly CodeRow[] {
  const { codeEnd, beginsAfter, minCodes } = syntax;
  const rows: CodeRow[] = [];
  let read = 0;
  for (let k = 0; k < parts.length; k += 2) {
    const stop = parts[k + 1] as number;
    let at = Math.max(read, (parts[k] as number) - LEAD);
    while (at < stop) {
      const end = beginsAfter(text.charCodeAt(at - 1)) ? codeEnd(text, at) : 0;
      if (end === 0) {
        at += 1;
        continue;
      }
      const row = readRow(text, at, end, syntax);
      if (row.starts.length >= minCodes) rows.push(row);
      at = row.ends.at(-1) as number;
    }
    read = at;
  }
  return rows;
}

function readRow(text: string, start: number, firstEnd: number, syntax: CodeRowSyntax): CodeRow {
  const { codeEnd, separators, maxGap } = syntax;
  const starts = [start];
  const ends = [firstEnd];
  for (let end = firstEnd; ; ) {
    let next = end;
    while (next - end < maxGap && next < text.length && separators.includes(text.charAt(next))) next += 1;
    const nextEnd = next === end ? 0 : codeEnd(text, next);
    if (nextEnd === 0) return { starts, ends };
    starts.push(next);
    ends.push(nextEnd);
    end = nextEnd;
  }
}

/** The parts of a text around places (ascending): places that are at most `reach` apart share one. */
export function partsAround(text: string, places: readonly number[], reach: number): readonly number[] {
  const parts: number[] = [];
  for (const place of places) {
    const end = Math.min(text.length, place + reach);
    const last = parts.at(-1);
    if (last !== undefined && place - reach <= last) parts[parts.length - 1] = end;
    else parts.push(Math.max(0, place - reach), end);
  }
  return parts;
}
