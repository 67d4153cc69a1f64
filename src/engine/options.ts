/**
 * Refuses options that do not exist: one that is misspelt would be left out in silence.
 *
 * @throws TypeError that names the option, and the known one that is most like it
 */
export function checkOptions(name: string, options: object | undefined, known: readonly string[]): void {
  const [unknown] =
    Object.entries(options ?? {}).find(([name, value]) => value !== undefined && !known.includes(name)) ?? [];
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  const advice = near === undefined ? '' : ` (did you mean ${near}?)`;
  throw new TypeError(`${name} has no option ${unknown}${advice}: there are ${known.join(', ')}`);
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
