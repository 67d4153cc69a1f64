/** A closed interval, `[low, high]`. */
export type Interval = readonly [number, number];

/** The two-sided 95 % quantile of the normal distribution, as in the model's own figures. */
const z95 = 1.96;

/**
 * Wilson's score interval of a share, 95 % unless `z` says otherwise. `[0, 1]` where `n` is 0.
 * @see Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference
 */
export const wilson = (hits: number, n: number, z: number = z95): Interval => {
  if (n === 0) return [0, 1];
  const share = hits / n;
  const scale = 1 + z ** 2 / n;
  const middle = (share + z ** 2 / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2));
  return [hits === 0 ? 0 : Math.max(0, middle - half), hits === n ? 1 : Math.min(1, middle + half)];
};
