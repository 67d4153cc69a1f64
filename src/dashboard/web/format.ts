const whole = new Intl.NumberFormat();
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** 12,345 in the reader's way of writing. */
export function count(value: number): string {
  return whole.format(value);
}

/** Date and time in the reader's zone. `time` in milliseconds since 1970. */
export function localTime(time: number): string {
  return short.format(time);
}

/** The day in the reader's zone. */
export function localDay(time: number): string {
  return dayOnly.format(time);
}

/** The same moment in UTC, to the second. */
export function utcTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A score with three digits. */
export function score(value: number): string {
  return value.toFixed(3);
}

/** A share of a whole in percent; a dash where there is no whole. */
export function share(part: number, of: number): string {
  return of === 0 ? '–' : `${((100 * part) / of).toFixed(part / of < 0.1 ? 1 : 0)} %`;
}
