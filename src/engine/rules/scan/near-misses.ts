import type { View } from '../../text/view.js';
import { viewBit } from '../compiled-rule.js';
import { buildPlainFinder } from '../prefilter/rule-finder.js';
import type { NearMiss } from '../types.js';
import { findInView } from './find-in-view.js';
import type { ScanParts } from './scan-views.js';
import { createViewReader } from './view-reader.js';

/** Which rules nearly fired, for people who write rules. Runs every pattern of every level alone; much slower than a scan. */
export function findNearMisses(parts: ScanParts, views: readonly View[]): readonly NearMiss[] {
  const finder = buildPlainFinder(parts.rules);
  const misses = new Map<string, NearMiss>();
  const fired = new Set<string>();
  for (const view of views) {
    const bit = viewBit(view.kind);
    const reader = createViewReader(view.text, finder, parts.compiler);
    const readings = reader.segments.map((segment) => reader.read(segment));
    readings.forEach((here, at) => {
      const near = { before: readings[at - 1], here, after: readings[at + 1] };
      for (const rule of parts.rules) {
        if ((rule.views & bit) === 0) continue;
        const occurs = rule.steps.map((atoms) =>
          atoms.some((atom) => here.locate(atom).length > 0 || (near.after?.locate(atom).length ?? 0) > 0),
        );
        const steps = occurs.flatMap((held, step) => (held ? [step + 1] : []));
        if (steps.length === 0) continue;
        const key = `${rule.index} ${view.kind} ${view.chain.join(' ')}`;
        if (findInView(rule, view.text, near, reader).length > 0) fired.add(key);
        else {
          const isWhole = steps.length === rule.steps.length;
          const bare = { ...rule, except: [] };
          const isExcepted = isWhole && findInView(bare, view.text, near, reader).length > 0;
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
