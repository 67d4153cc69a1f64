import type { Span } from '../../span.js';
import type { View } from '../../text/view.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { Finding, RulesSignal } from '../types.js';
import { bestCluster, type Cluster, NO_CLUSTER, SCORE_CEILING, type WeighedHit } from './clusters.js';

/** Findings listed for one rule, at most; the score counts them all. */
const MAX_FINDINGS = 64;

/** Gathers what one scan finds, and weighs it. */
export interface Findings {
  add(rule: CompiledRule, view: View, spans: readonly Span[]): void;
  /** True when the score has reached its ceiling, so that nothing found later could change it. */
  settle(): boolean;
  /** Ends a view. */
  close(): void;
  signal(): RulesSignal;
}

/**
 * Clusters are sought twice, and the stronger counts: within one view by view offsets (so that decoding, which
 * shrinks text, can't pull signals apart) and across all views by input offsets.
 */
export function createFindings(rules: readonly CompiledRule[]): Findings {
  const listing = createListing();
  const overall: WeighedHit[] = [];
  let inView: WeighedHit[] = [];
  let fresh = false;
  let best: Cluster = NO_CLUSTER;
  let settled = false;

  const consider = (cluster: Cluster): void => {
    if (!settled && cluster.score > best.score) best = cluster;
    if (best.score >= SCORE_CEILING) settled = true;
  };
  const weighView = (): void => {
    if (fresh && !settled) consider(bestCluster(inView.sort(byPlace)));
    fresh = false;
  };

  return {
    add(rule, view, spans) {
      for (const span of spans) {
        const input = view.map.toInput(span);
        if (rule.score > 0) {
          inView.push({ at: span.start, rule: rule.index, score: rule.score });
          overall.push({ at: input.start, rule: rule.index, score: rule.score });
          fresh = true;
        }
        listing.add(rule, view, span, input);
      }
    },
    settle() {
      weighView();
      return settled;
    },
    close() {
      weighView();
      inView = [];
    },
    signal() {
      if (!settled) consider(bestCluster(overall.sort(byPlace)));
      const cluster = best.rules.map((index) => (rules[index] as CompiledRule).rule.id);
      return { score: best.score, rule: cluster[0], cluster, ...listing.list() };
    },
  };
}

/** Lists each place of a rule once, up to `MAX_FINDINGS` a rule; those of experimental rules apart. */
function createListing(): {
  readonly add: (rule: CompiledRule, view: View, shown: Span, span: Span) => void;
  readonly list: () => Pick<RulesSignal, 'findings' | 'shadow'>;
} {
  const shadowed = new Set<string>();
  const listed = new Map<string, Finding>();
  const perRule = new Map<number, number>();
  return {
    add({ index, score, rule: { id, severity, status } }, view, shown, span) {
      const count = perRule.get(index) ?? 0;
      if (count >= MAX_FINDINGS) return;
      const key = `${index} ${span.start} ${span.end}`;
      if (listed.has(key)) return;
      perRule.set(index, count + 1);
      if (status === 'experimental') shadowed.add(id);
      listed.set(key, { rule: id, severity, score, span, view: view.kind, chain: view.chain, shown });
    },
    list() {
      const all = [...listed.values()].sort(byFinding);
      const isShadow = (finding: Finding): boolean => shadowed.has(finding.rule);
      return { findings: all.filter((finding) => !isShadow(finding)), shadow: all.filter(isShadow) };
    },
  };
}

const byPlace = (a: WeighedHit, b: WeighedHit): number => a.at - b.at;

const byFinding = (a: Finding, b: Finding): number =>
  a.span.start - b.span.start || a.span.end - b.span.end || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0);
