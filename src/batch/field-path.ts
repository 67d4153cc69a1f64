/** Reads one field of a row. */
export type ReadField = (row: Readonly<Record<string, unknown>>) => unknown;

/**
 * A reader for a field: its name, or a path into nested values such as `message.parts[0].text`. A field whose whole
 * name is the path comes first. Gives undefined where there is none.
 */
export function fieldPath(path: string): ReadField {
  const steps = path
    .replace(/^\$\./, '')
    .split(/\.|\[(\d+)\]/)
    .filter((step) => step !== undefined && step !== '');
  return (row) => {
    if (Object.hasOwn(row, path)) return row[path];
    let value: unknown = row;
    for (const step of steps) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[step];
    }
    return value;
  };
}

/** The top-level field that a path begins with. */
export function topField(path: string): string {
  return path.replace(/^\$\./, '').split(/[.[]/)[0] ?? path;
}
