import type { Interval } from '../metrics/binomial.js';

/** A share in percent, or `-`. */
export function percent(share: number | null | undefined, digits: number = 2): string {
  return share === null || share === undefined ? '-' : `${(100 * share).toFixed(digits)} %`;
}

/** Decimals of a percentage that a share of `n` texts carries. */
function percentDecimals(n: number): number {
  if (n < 100) return 0;
  return n < 10_000 ? 1 : 2;
}

/** A share of `n` texts in percent, with no more decimals than `n` supports, or `-`. */
export function formatPercent(share: number | null | undefined, n: number): string {
  return percent(share, percentDecimals(n));
}

/** A figure between 0 and 1, with no more decimals than `n` texts support, or `-`. */
export function formatFigure(value: number | null, n: number): string {
  return value === null ? '-' : value.toFixed(n < 1_000 ? 2 : 3);
}

/** An interval of a share of `n` texts in percent, with no more decimals than `n` supports, or `-`. */
export function percentInterval(interval: Interval | null | undefined, n: number): string {
  const digits = percentDecimals(n);
  return interval ? `${(100 * interval[0]).toFixed(digits)} to ${(100 * interval[1]).toFixed(digits)} %` : '-';
}

/** A number with three decimals, or `-`. */
export function number3(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : value.toFixed(3);
}

type Rows = readonly (readonly string[])[];

/** Rows of cells as columns of plain text, the first to the left, the others to the right. */
export function alignedTable(rows: Rows): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Rows of cells as a table of Markdown; the first row is its head. */
export function markdownTable(rows: Rows): string {
  return rows
    .flatMap((row, i) => (i === 0 ? [row, row.map(() => '-')] : [row]))
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n');
}
