// Logarithms throughout: with a million texts the probability of no alarm at all is smaller than a double can hold.
const firstTerm = (n: number, rate: number): number => n * Math.log1p(-rate);
const nextTerm = (term: number, k: number, n: number, rate: number): number =>
  term + Math.log((n - k) / (k + 1)) + Math.log(rate) - Math.log1p(-rate);

/** Probability of at most `k` alarms among `n` texts that each raise one with probability `rate` (0..1, ends excluded). */
const atMost = (k: number, n: number, rate: number): number => {
  let term = firstTerm(n, rate);
  let sum = 0;
  for (let i = 0; i <= Math.min(k, n); i++) {
    sum += Math.exp(term);
    term = nextTerm(term, i, n, rate);
  }
  return Math.min(1, sum);
};

/**
 * The exact (Clopper-Pearson) one-sided upper bound of a rate, 0..1, after `k` alarms among `n` texts.
 * @see Clopper, C. and Pearson, E. S. (1934), The use of confidence or fiducial limits
 */
export const binomialUpperBound = (k: number, n: number, confidence: number): number => {
  if (k >= n) return 1;
  let [low, high] = [0, 1];
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (atMost(k, n, middle) > 1 - confidence) low = middle;
    else high = middle;
  }
  return high;
};

/** The most alarms among `n` texts whose upper bound is still at most `budget`; -1 where even none is too little proof. */
export const allowedAlarms = (n: number, budget: number, confidence: number): number => {
  let term = firstTerm(n, budget);
  let sum = 0;
  for (let k = 0; k < n; k++) {
    sum += Math.exp(term);
    if (sum > 1 - confidence) return k - 1;
    term = nextTerm(term, k, n, budget);
  }
  return n - 1;
};

/** The fewest texts among which `alarms` alarms prove a rate of at most `budget`. */
export const samplesNeeded = (alarms: number, budget: number, confidence: number): number => {
  const isEnough = (n: number): boolean => n > alarms && atMost(alarms, n, budget) <= 1 - confidence;
  let high = alarms + 1;
  while (!isEnough(high)) high *= 2;
  let low = alarms;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
};
