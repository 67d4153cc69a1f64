import type { Channel } from '../../engine/channel.js';
import type { CompiledPack, Paranoia } from '../../engine/rules/types.js';
import { buildViews } from '../../engine/text/views.js';

/** One rule at one place of the input, UTF-16 code units. */
export interface RuleHit {
  readonly rule: string;
  readonly start: number;
  readonly end: number;
  /** The reading of the text that it was found in, and where in that reading: findings near one another add up. */
  readonly view: string;
  readonly at: number;
}

export interface RulesReading {
  /** 0..1. */
  readonly score: number;
  /** The strongest rule of the cluster that scored; null if no rule matched. */
  readonly rule: string | null;
  /** All findings, including those of experimental rules; empty unless `withHits` is set. */
  readonly hits: readonly RuleHit[];
  /** Time of views and rules, microseconds. */
  readonly micros: number;
}

export interface TextToScan {
  readonly text: string;
  /** Default: `unknown`. */
  readonly channel?: Channel | undefined;
}

export interface ScanRequest {
  /** True: every rule's findings, not only as many as the score needs. */
  readonly withHits: boolean;
  /** Rules above this level are left out; absent: the pack's level. */
  readonly paranoia?: Paranoia | undefined;
}

/** Screens one text by the rules alone. */
export function scanText(
  pack: CompiledPack,
  { text, channel = 'unknown' }: TextToScan,
  { withHits, paranoia }: ScanRequest,
): RulesReading {
  const start = performance.now();
  const signal = pack.scan(buildViews(text).views, { channel, paranoia, exhaustive: withHits });
  const micros = Math.round((performance.now() - start) * 1000);
  const found = withHits ? [...signal.findings, ...signal.shadow] : [];
  return {
    score: signal.score,
    rule: signal.rule ?? null,
    hits: found.map(({ rule, span, view, chain, shown }) => ({
      rule,
      start: span.start,
      end: span.end,
      view: [view, ...chain].join(' '),
      at: shown.start,
    })),
    micros,
  };
}

/** A piece of the texts for a child to screen; its readings come in the order of the texts. */
export interface ToRulesChild {
  readonly packs: readonly string[] | undefined;
  readonly overlays: readonly string[] | undefined;
  readonly texts: readonly TextToScan[];
  readonly request: ScanRequest;
}
