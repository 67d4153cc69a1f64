import type { StoreFlags } from './store-flags.js';

/** A time as people and programs read it. */
export const shownTime = (at: number | null): string => (at === null ? '-' : new Date(at).toISOString());

const line = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** One value: as JSON, or as `text`, alone on its line, for `$(...)` in a shell. */
export const printOne = (flags: StoreFlags, value: unknown, text: string): void =>
  line(flags.json ? JSON.stringify(value, null, 2) : text);

/** A table with a head; as JSON the values themselves. */
export const printTable = <T>(
  flags: StoreFlags,
  values: readonly T[],
  columns: Readonly<Record<string, (value: T) => string>>,
): void => {
  if (flags.json) {
    line(JSON.stringify(values, null, 2));
    return;
  }
  const names = Object.keys(columns);
  const rows = values.map((value) => Object.values(columns).map((cell) => cell(value)));
  const widths = names.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  for (const row of [names, ...rows])
    line(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    );
};
