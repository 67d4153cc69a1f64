const state = { value: 1 };

/** Starts the random sequence anew, so that a generator gives the same text in every run. */
export function seedRandom(seed: number): void {
  state.value = seed >>> 0;
}

/** An integer of `[0, below)` from a fixed sequence. */
export function random(below: number): number {
  state.value = (Math.imul(state.value, 1664525) + 1013904223) >>> 0;
  // The low bits of a linear congruential generator repeat quickly.
  return Math.floor((state.value / 2 ** 32) * below);
}

/** One of the items. */
export function pick<T>(items: readonly T[]): T {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Pieces put one after another up to `size` code units. */
export function fill(size: number, piece: () => string): string {
  const pieces: string[] = [];
  for (let length = 0; length < size; ) {
    const next = piece();
    pieces.push(next);
    length += next.length;
  }
  return pieces.join('').slice(0, size);
}
