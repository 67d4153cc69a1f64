/** A closed interval, `[low, high]`. */
export type Interval = readonly [number, number];

/** The two-sided 95 % quantile of the normal distribution, as in the model's own figures. */
const Z95 = 1.96;

/**
 * Wilson's score interval of a share, 95 % unless `z` says otherwise. `[0, 1]` where `n` is 0.
 * @see Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference
 */
export function wilson(hits: number, n: number, z: number = Z95): Interval {
  if (n === 0) return [0, 1];
  const share = hits / n;
  const scale = 1 + z ** 2 / n;
  const middle = (share + z ** 2 / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2));
  return [hits === 0 ? 0 : Math.max(0, middle - half), hits === n ? 1 : Math.min(1, middle + half)];
}

// Logarithms throughout: with a million texts the probability of no false positive at all is smaller than a double can hold.
function firstTerm(n: number, rate: number): number {
  return n * Math.log1p(-rate);
}
function nextTerm(term: number, k: number, n: number, rate: number): number {
  return term + Math.log((n - k) / (k + 1)) + Math.log(rate) - Math.log1p(-rate);
}

/** Probability of at most `k` false positives among `n` texts, each with probability `rate` (0..1, ends excluded). */
function atMost(k: number, n: number, rate: number): number {
  let term = firstTerm(n, rate);
  let sum = 0;
  for (let i = 0; i <= Math.min(k, n); i++) {
    sum += Math.exp(term);
    term = nextTerm(term, i, n, rate);
  }
  return Math.min(1, sum);
}

/**
 * The exact (Clopper-Pearson) one-sided upper bound of a rate, 0..1, after `k` false positives among `n` texts.
 * @see Clopper, C. and Pearson, E. S. (1934), The use of confidence or fiducial limits
 */
export function binomialUpperBound(k: number, n: number, confidence: number): number {
  if (k >= n) return 1;
  let [low, high] = [0, 1];
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (atMost(k, n, middle) > 1 - confidence) low = middle;
    else high = middle;
  }
  return high;
}

/** The most false positives among `n` texts whose upper bound is at most `budget`; -1 where even 0 doesn't prove it. */
export function allowedFalsePositives(n: number, budget: number, confidence: number): number {
  let term = firstTerm(n, budget);
  let sum = 0;
  for (let k = 0; k < n; k++) {
    sum += Math.exp(term);
    if (sum > 1 - confidence) return k - 1;
    term = nextTerm(term, k, n, budget);
  }
  return n - 1;
}

/** The fewest texts among which `falsePositives` false positives prove a rate of at most `budget`. */
export function samplesNeeded(falsePositives: number, budget: number, confidence: number): number {
  const isEnough = (n: number): boolean => n > falsePositives && atMost(falsePositives, n, budget) <= 1 - confidence;
  let high = falsePositives + 1;
  while (!isEnough(high)) high *= 2;
  let low = falsePositives;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}
