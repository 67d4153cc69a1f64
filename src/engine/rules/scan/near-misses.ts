import type { View } from '../../text/view.js';
import { viewBit } from '../compiled-rule.js';
import { buildPlainPrefilter, EVERYWHERE } from '../prefilter/prefilter.js';
import type { NearMiss } from '../types.js';
import { matchRule } from './match-rule.js';
import { createFindWide, cutSegments, scanSegment } from './scan-segment.js';
import type { ScanParts } from './scan-views.js';

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
