import type { RegexCompiler } from '../ports.js';
import type { View } from '../text/view.js';
import { type CompiledRule, viewBit } from './compiled-rule.js';
import { findInView } from './find-in-view.js';
import { createFindings } from './findings.js';
import type { Shard } from './shards.js';
import type { Paranoia, RulesSignal, ScanOptions } from './types.js';
import { createViewReader, type SegmentReading } from './view-reader.js';

/** What a compiled pack scans with. */
export interface ScanParts {
  readonly rules: readonly CompiledRule[];
  readonly shards: readonly Shard[];
  readonly compiler: RegexCompiler;
  readonly paranoia: Paranoia;
}

/** Looks at every view with every rule that the options let in. Never throws because of what the text says. */
export function scanViews(parts: ScanParts, views: readonly View[], options: ScanOptions): RulesSignal {
  const level = options.paranoia ?? parts.paranoia;
  const findings = createFindings(parts.rules);
  const runs = (rule: CompiledRule, bit: number): boolean =>
    (rule.views & bit) !== 0 &&
    rule.rule.paranoia <= level &&
    (options.channel === undefined || rule.rule.channels.length === 0 || rule.rule.channels.includes(options.channel));

  for (const view of views) {
    const bit = viewBit(view.kind);
    const shards = parts.shards.filter((shard) => shard.tier <= level && (shard.views & bit) !== 0);
    if (shards.length === 0) continue;
    const reader = createViewReader(view.text, parts.compiler);
    let before: SegmentReading | undefined;
    let here: SegmentReading | undefined;
    for (let i = 0; i <= reader.segments.length; i++) {
      const segment = reader.segments[i];
      const after = segment && reader.read(segment, shards);
      if (here) {
        for (const index of here.steps.keys()) {
          const rule = parts.rules[index] as CompiledRule;
          const hit = (here.steps.get(index) ?? 0) | (after?.steps.get(index) ?? 0);
          if (hit !== rule.allSteps || !runs(rule, bit)) continue;
          findings.add(rule, view, findInView(rule, view.text, { before, here, after }, reader));
        }
        if (findings.settle(view) && !options.exhaustive) return findings.signal();
      }
      before = here;
      here = after;
    }
    findings.close(view);
  }
  return findings.signal();
}
