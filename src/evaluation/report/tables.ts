type Rows = readonly (readonly string[])[];

/** Rows of cells as columns of plain text, the first to the left, the others to the right. */
export const alignedTable = (rows: Rows): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** Rows of cells as a table of Markdown; the first row is its head. */
export const markdownTable = (rows: Rows): string =>
  rows
    .flatMap((row, i) => (i === 0 ? [row, row.map(() => '-')] : [row]))
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n');
