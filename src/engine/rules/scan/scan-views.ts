import type { RegexCompiler } from '../../ports.js';
import type { View } from '../../text/view.js';
import { type CompiledRule, viewBit } from '../compiled-rule.js';
import type { RuleFinder } from '../prefilter/rule-finder.js';
import type { Channel, Paranoia, Rule, RulesSignal, ScanOptions } from '../types.js';
import { findInView } from './find-in-view.js';
import { createFindings } from './findings.js';
import { createViewReader, type SegmentReading } from './view-reader.js';

/** What a compiled pack scans with. */
export interface ScanParts {
  readonly rules: readonly CompiledRule[];
  /** Finders for the rules up to a level that read the raw view, or the folded ones. */
  readonly findersFor: (isRaw: boolean, level: Paranoia) => readonly RuleFinder[];
  readonly compiler: RegexCompiler;
  readonly paranoia: Paranoia;
}

/** Looks at every view with every rule that the options let in. Never throws because of what the text says. */
export function scanViews(parts: ScanParts, views: readonly View[], options: ScanOptions): RulesSignal {
  const level = options.paranoia ?? parts.paranoia;
  const findings = createFindings(parts.rules);
  for (const view of views) {
    const bit = viewBit(view.kind);
    for (const finder of parts.findersFor(view.kind === 'raw', level)) {
      const reader = createViewReader(view.text, finder, parts.compiler);
      const isRun = ({ views: read, rule }: CompiledRule): boolean =>
        (read & bit) !== 0 && isOpenTo(rule, options.channel);
      let before: SegmentReading | undefined;
      let here: SegmentReading | undefined;
      for (let i = 0; i <= reader.segments.length; i++) {
        const segment = reader.segments[i];
        const after = segment && reader.read(segment);
        if (here) {
          for (const rule of candidates(here, after)) {
            if (isRun(rule)) findings.add(rule, view, findInView(rule, view.text, { before, here, after }, reader));
          }
          if (findings.settle(view) && !options.exhaustive) return findings.signal();
        }
        before = here;
        here = after;
      }
    }
    findings.close(view);
  }
  return findings.signal();
}

function isOpenTo(rule: Rule, channel: Channel | undefined): boolean {
  return channel === undefined || rule.channels.length === 0 || rule.channels.includes(channel);
}

/** Rules that may fire from this segment on, be it over its end. */
function candidates(here: SegmentReading, after: SegmentReading | undefined): ReadonlySet<CompiledRule> {
  return after ? new Set([...here.near, ...here.late, ...after.early]) : new Set(here.near);
}
