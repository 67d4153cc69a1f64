/** The options of a type, each of them: the compiler refuses a table that lacks one. */
export type Known<T> = Readonly<Record<keyof T, unknown>>;

/**
 * Refuses options that do not exist: one that is misspelt would be left out in silence.
 *
 * @throws TypeError that names each of them, and the known one that is most like it
 */
export function checkOptions<T extends object>(name: string, options: T | undefined, known: Known<T>): void {
  const mistakes = unknownOptions(name, options, known);
  if (mistakes.length > 0) throw new TypeError(mistakes.join('; '));
}

/** Describes the options that do not exist: one sentence for all of them, or none. */
export function unknownOptions<T extends object>(
  name: string,
  options: T | undefined,
  known: Known<T>,
): readonly string[] {
  const names = Object.keys(known);
  const unknown = Object.entries(options ?? {}).filter(
    ([option, value]) => value !== undefined && !names.includes(option),
  );
  if (unknown.length === 0) return [];
  const listed = unknown.map(([option]) => {
    const near = nearest(option, names);
    return near === undefined ? option : `${option} (did you mean ${near}?)`;
  });
  return [`${name} has no option ${listed.join(' or ')}: there are ${names.join(', ')}`];
}

/** Edits between two names that may be a slip. */
const MAX_EDITS = 2;

function nearest(unknown: string, known: readonly string[]): string | undefined {
  const [first] = known
    .map((name) => ({ name, edits: editsBetween(unknown.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= MAX_EDITS && edits < name.length)
    .sort((a, b) => a.edits - b.edits);
  return first?.name;
}

/** @see https://en.wikipedia.org/wiki/Levenshtein_distance */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [at, sign] of [...a].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= b.length; to += 1) {
      const replaced = (row[to - 1] ?? 0) + (sign === b[to - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
