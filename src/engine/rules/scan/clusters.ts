/** Findings this near one another (between their starts, in characters) are weighed together. */
export const CLUSTER_REACH = 400;
/** No text is more certain than this; a scan may stop when it is reached. */
export const SCORE_CEILING = 0.999;

export interface WeighedHit {
  readonly at: number;
  /** Index of the rule in its pack. */
  readonly rule: number;
  /** The rule's score, 0..1. */
  readonly score: number;
}

export interface Cluster {
  /** Noisy-or of the distinct rules' scores, 0..`SCORE_CEILING`. */
  readonly score: number;
  /** Distinct rules, strongest first, then by index. */
  readonly rules: readonly number[];
}

export const NO_CLUSTER: Cluster = { score: 0, rules: [] };

/** Evidence as a whole number, so that sums are exact and the same in any order. */
const weight = (score: number): number => Math.round(-Math.log1p(-Math.min(score, 0.9999)) * 1e9);

/**
 * The strongest cluster: s = 1 - Π(1 - score) over distinct rules whose hits start within `CLUSTER_REACH` of its first.
 * More hits never lower it. The first of equals wins. `hits` sorted by `at`; O(n log n) at most.
 */
export function bestCluster(hits: readonly WeighedHit[]): Cluster {
  const counts = new Map<number, number>();
  let sum = 0;
  let best = 0;
  let bestFrom = -1;
  let next = 0;
  for (let first = 0; first < hits.length; first++) {
    const start = hits[first] as WeighedHit;
    for (; next < hits.length && (hits[next] as WeighedHit).at - start.at <= CLUSTER_REACH; next++) {
      const hit = hits[next] as WeighedHit;
      const count = counts.get(hit.rule) ?? 0;
      if (count === 0) sum += weight(hit.score);
      counts.set(hit.rule, count + 1);
    }
    if (sum > best) {
      best = sum;
      bestFrom = first;
    }
    const count = counts.get(start.rule) as number;
    if (count === 1) sum -= weight(start.score);
    counts.set(start.rule, count - 1);
  }
  return bestFrom < 0 ? NO_CLUSTER : weigh(hits, bestFrom);
}

function weigh(hits: readonly WeighedHit[], from: number): Cluster {
  const scores = new Map<number, number>();
  const start = (hits[from] as WeighedHit).at;
  for (let i = from; i < hits.length && (hits[i] as WeighedHit).at - start <= CLUSTER_REACH; i++) {
    const hit = hits[i] as WeighedHit;
    if (hit.score > 0) scores.set(hit.rule, hit.score);
  }
  const rules = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const missed = rules.reduce((left, [, score]) => left * (1 - score), 1);
  return { score: Math.min(SCORE_CEILING, 1 - missed), rules: rules.map(([rule]) => rule) };
}
