import type { View } from '../text/view.js';
import { viewBit } from './compiled-rule.js';
import { findInView } from './find-in-view.js';
import type { ScanParts } from './scan-views.js';
import type { NearMiss } from './types.js';
import { createViewReader } from './view-reader.js';

/** Which rules nearly fired, for people who write rules. Looks segment by segment, at every level; slower than a scan. */
export function findNearMisses(parts: ScanParts, views: readonly View[]): readonly NearMiss[] {
  const misses = new Map<string, NearMiss>();
  const fired = new Set<string>();
  for (const view of views) {
    const bit = viewBit(view.kind);
    const reader = createViewReader(view.text, parts.compiler);
    const readings = reader.segments.map((segment) => reader.read(segment, parts.shards));
    readings.forEach((here, at) => {
      for (const [index, hit] of here.steps) {
        const rule = parts.rules[index];
        if (!rule || (rule.views & bit) === 0) continue;
        const key = `${index} ${view.kind} ${view.chain.join(' ')}`;
        const near = { before: readings[at - 1], here, after: readings[at + 1] };
        if (findInView(rule, view.text, near, reader).length > 0) fired.add(key);
        else {
          const all = hit | (near.after?.steps.get(index) ?? 0);
          const steps = rule.steps.flatMap((_, step) => (all & (1 << step) ? [step + 1] : []));
          const bare = { ...rule, except: [] };
          const excepted = all === rule.allSteps && findInView(bare, view.text, near, reader).length > 0;
          const why = excepted ? 'excepted' : all === rule.allSteps ? 'apart' : 'missing steps';
          misses.set(key, { rule: rule.rule.id, view: view.kind, chain: view.chain, steps, of: rule.steps.length, why });
        }
      }
    });
  }
  return [...misses].filter(([key]) => !fired.has(key)).map(([, miss]) => miss);
}
