/** Lines around a change that are shown with it. */
const CONTEXT = 2;

/**
 * The lines that differ, marked by `-` and `+`, with two around them. O(n·m) in lines: for files of a person's size.
 * @see the longest common subsequence, as `diff` computes it
 */
export function lineDiff(before: string, after: string): string {
  const old = before === '' ? [] : before.replace(/\r?\n$/, '').split(/\r?\n/);
  const fresh = after === '' ? [] : after.replace(/\r?\n$/, '').split(/\r?\n/);
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] as Uint32Array;
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      row[j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length; ) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(`  ${old[i]}`);
      i += 1;
      j += 1;
    } else if (i < old.length && (j === fresh.length || at(i + 1, j) >= at(i, j + 1))) lines.push(`- ${old[i++]}`);
    else lines.push(`+ ${fresh[j++]}`);
  }
  const isChange = lines.map((line) => !line.startsWith(' '));
  const isNear = (index: number): boolean =>
    isChange.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(Boolean);
  return lines.filter((_, index) => isNear(index)).join('\n');
}
