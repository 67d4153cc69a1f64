import type { Interval } from '../metrics/wilson.js';

/** A share in percent, `-` where there is none. */
export const percent = (share: number | null | undefined, digits: number = 2): string =>
  share === null || share === undefined ? '-' : `${(100 * share).toFixed(digits)} %`;

/** An interval of shares in percent. */
export const percentInterval = (interval: Interval | null | undefined): string =>
  interval ? `${(100 * interval[0]).toFixed(2)} to ${(100 * interval[1]).toFixed(2)} %` : '-';

/** A number with three decimals, `-` where there is none. */
export const number3 = (value: number | null | undefined): string =>
  value === null || value === undefined ? '-' : value.toFixed(3);
