import type { Channel } from '../../channel.js';
import type { Span } from '../../span.js';
import type { View } from '../../text/view.js';
import { type CompiledRule, viewBit } from '../compiled-rule.js';
import { buildPlainPrefilter, EVERYWHERE, type Prefilter } from '../prefilter/prefilter.js';
import type { Finding, NearMiss, Paranoia, Rule, RulesSignal, ScanOptions } from '../types.js';
import { bestCluster, type Cluster, NO_CLUSTER, SCORE_CEILING, type WeighedHit } from './clusters.js';
import { matchRule } from './match-rule.js';
import { createFindWide, cutSegments, type SegmentScan, scanSegment } from './scan-segment.js';

export interface ScanParts {
  readonly rules: readonly CompiledRule[];
  /** Each with rules of its own; together they have all. */
  readonly prefilters: readonly Prefilter[];
  readonly paranoia: Paranoia;
  /** Rules that differ from those the prefilters know, by index; null for one that is switched off. */
  readonly changed?: ReadonlyMap<number, CompiledRule | null> | undefined;
}

/** Looks at every view with every rule that the options let in. Never throws because of what the text says. */
export function scanViews(parts: ScanParts, views: readonly View[], options: ScanOptions): RulesSignal {
  const level = options.paranoia ?? parts.paranoia;
  const findings = createFindings(parts.rules);
  const readers = parts.prefilters.map((prefilter) => ({
    prefilter,
    views: prefilter.rules.reduce((mask, rule) => mask | rule.views, 0),
  }));
  for (const view of views) {
    const bit = viewBit(view.kind);
    const isEnabled = ({ views: read, rule }: CompiledRule): boolean =>
      (read & bit) !== 0 && rule.paranoia <= level && runsOn(rule, options.channel);
    const segments = cutSegments(view.text);
    for (const { prefilter, views: read } of readers) {
      if ((read & bit) === 0) continue;
      const findWide = createFindWide(view.text, prefilter);
      let before: SegmentScan | undefined;
      let here: SegmentScan | undefined;
      for (let i = 0; i <= segments.length; i++) {
        const segment = segments[i];
        const after = segment && scanSegment(view.text, segment, prefilter);
        if (here) {
          for (const candidate of listCandidates(here, after)) {
            const change = parts.changed?.get(candidate.index);
            const rule = change ?? candidate;
            if (change !== null && isEnabled(rule))
              findings.add(rule, view, matchRule(candidate, rule.except, view.text, { before, here, after }, findWide));
          }
          if (findings.settle() && !options.exhaustive) return findings.signal();
        }
        before = here;
        here = after;
      }
    }
    findings.close();
  }
  return findings.signal();
}

/** Rules that may fire from this segment on, including across its end. */
function listCandidates(here: SegmentScan, after: SegmentScan | undefined): ReadonlySet<CompiledRule> {
  const { inside, leaving } = here.candidates;
  return after ? new Set([...inside, ...leaving, ...after.candidates.entering]) : inside;
}

function runsOn({ channels }: Rule, channel: Channel | undefined): boolean {
  return (
    channel === undefined ||
    channels.length === 0 ||
    channels.includes(channel) ||
    (channel === 'unknown' && channels.includes('user'))
  );
}

/** Lists the rules that nearly matched, for rule authors. Runs every pattern of every level alone; much slower than a scan. */
export function findNearMisses(parts: ScanParts, views: readonly View[]): readonly NearMiss[] {
  const prefilter = buildPlainPrefilter(parts.rules);
  const misses = new Map<string, NearMiss>();
  const fired = new Set<string>();
  for (const view of views) {
    const bit = viewBit(view.kind);
    const findWide = createFindWide(view.text, prefilter);
    const scans = cutSegments(view.text).map((segment) => scanSegment(view.text, segment, prefilter));
    scans.forEach((here, at) => {
      const near = { before: scans[at - 1], here, after: scans[at + 1] };
      for (const rule of parts.rules) {
        if ((rule.views & bit) === 0) continue;
        const occurs = rule.steps.map((patterns) =>
          patterns.some((one) => [here, near.after].some((scan) => scan && scan.findAll(one, EVERYWHERE).length > 0)),
        );
        const steps = occurs.flatMap((held, step) => (held ? [step + 1] : []));
        if (steps.length === 0) continue;
        const key = `${rule.index} ${view.kind} ${view.chain.join(' ')}`;
        if (matchRule(rule, rule.except, view.text, near, findWide).length > 0) fired.add(key);
        else {
          const isWhole = steps.length === rule.steps.length;
          const isExcepted = isWhole && matchRule(rule, [], view.text, near, findWide).length > 0;
          const why = isExcepted ? 'excepted' : isWhole ? 'apart' : 'missing steps';
          misses.set(key, {
            rule: rule.rule.id,
            view: view.kind,
            chain: view.chain,
            steps,
            of: rule.steps.length,
            why,
          });
        }
      }
    });
  }
  return [...misses].filter(([key]) => !fired.has(key)).map(([, miss]) => miss);
}

/** Findings listed for one rule, at most; the score counts them all. */
const MAX_FINDINGS = 64;

/** Gathers what one scan finds, and weighs it. */
interface Findings {
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
function createFindings(rules: readonly CompiledRule[]): Findings {
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
