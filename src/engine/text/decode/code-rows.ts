/** Codes that follow one another: where each begins and ends in the text. */
export interface CodeRow {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** How the codes of a row are written. */
export interface CodeRowSyntax {
  /** Where the code ends that begins at this offset, 0 when none does. Looks at a bounded part of the text. */
  readonly codeEnd: (text: string, at: number) => number;
  /** True when a row may begin after this code unit (NaN at the start of the text). */
  readonly beginsAfter: (unit: number) => boolean;
  readonly separators: string;
  /** Most separators between two codes. */
  readonly maxGap: number;
  /** Fewer codes are no row. */
  readonly minCodes: number;
}

/** Finds the rows of codes in a text. Each unit is looked at a bounded number of times: no backtracking. */
export function findCodeRows(text: string, syntax: CodeRowSyntax): readonly CodeRow[] {
  const { codeEnd, beginsAfter, separators, maxGap, minCodes } = syntax;
  const rows: CodeRow[] = [];
  for (let at = 0; at < text.length; ) {
    let end = beginsAfter(text.charCodeAt(at - 1)) ? codeEnd(text, at) : 0;
    if (end === 0) {
      at += 1;
      continue;
    }
    const starts = [at];
    const ends = [end];
    for (;;) {
      let next = end;
      while (next - end < maxGap && next < text.length && separators.includes(text.charAt(next))) next += 1;
      const nextEnd = next === end ? 0 : codeEnd(text, next);
      if (nextEnd === 0) break;
      starts.push(next);
      ends.push(nextEnd);
      end = nextEnd;
    }
    if (starts.length >= minCodes) rows.push({ starts, ends });
    at = end;
  }
  return rows;
}
