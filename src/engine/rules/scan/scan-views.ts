import type { Channel } from '../../channel.js';
import type { View } from '../../text/view.js';
import { type CompiledRule, viewBit } from '../compiled-rule.js';
import type { Prefilter } from '../prefilter/prefilter.js';
import type { Paranoia, Rule, RulesSignal, ScanOptions } from '../types.js';
import { createFindings } from './findings.js';
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
