import type { Span } from '../engine/span.js';
import { type ChangedVerdict, changedVerdicts, type VerdictChanges } from '../evaluation/report/changed-verdicts.js';
import type { LabelledText } from '../evaluation/rows/labelled-text.js';
import { scoreRules } from '../evaluation/scoring/score-rules.js';
import { type ScoringOptions, type ScoringSetup, scoreTexts } from '../evaluation/scoring/score-texts.js';

/** A changed verdict with the rule and the places of the side that blocks. */
export interface LocatedChange extends ChangedVerdict {
  readonly spans: readonly Span[];
}

/** Verdicts that one rule's findings turned. */
export interface RuleDifference {
  readonly rule: string;
  readonly newlyBlocked: number;
  readonly newlyAllowed: number;
}

/** Difference between the verdicts of two sets of rules on the same texts. */
export interface PackDifference extends Omit<VerdictChanges, 'changes'> {
  readonly schema: 'portcullis.rules-diff/1';
  readonly versions: readonly [before: string, after: string];
  readonly changes: readonly LocatedChange[];
  /** Most changes first. A text counts for the strongest rule of the side that blocks it. */
  readonly byRule: readonly RuleDifference[];
}

/** Screens the texts by the rules of both sides, and locates the findings of what changed. @throws PackError */
export async function diffPacks(
  rows: readonly LabelledText[],
  before: ScoringSetup,
  after: ScoringSetup,
  options: ScoringOptions = {},
): Promise<PackDifference> {
  const old = await scoreTexts(rows, { ...before, model: false }, options);
  const now = await scoreTexts(rows, { ...after, model: false }, options);
  const { changes, ...counts } = changedVerdicts(now, old);
  const listReadings = async (verdict: 'allow' | 'block', by: ScoringSetup): Promise<readonly LocatedChange[]> => {
    const turned = changes.filter((change) => change.after === verdict);
    const readings = await scoreRules(turned, { packs: by.packs, overlays: by.overlays, withHits: true });
    return turned.map((change, i) => ({
      ...change,
      rule: readings[i]?.rule ?? change.rule,
      spans: (readings[i]?.hits ?? []).map(({ start, end }) => ({ start, end })),
    }));
  };
  const located = [...(await listReadings('block', after)), ...(await listReadings('allow', before))];
  const byRule = new Map<string, { newlyBlocked: number; newlyAllowed: number }>();
  for (const { rule, after: verdict } of located) {
    const counted = byRule.get(rule ?? 'none') ?? { newlyBlocked: 0, newlyAllowed: 0 };
    counted[verdict === 'block' ? 'newlyBlocked' : 'newlyAllowed'] += 1;
    byRule.set(rule ?? 'none', counted);
  }
  return {
    schema: 'portcullis.rules-diff/1',
    versions: [old.rulesVersion, now.rulesVersion],
    ...counts,
    changes: located,
    byRule: [...byRule]
      .map(([rule, counted]) => ({ rule, ...counted }))
      .sort((a, b) => b.newlyBlocked + b.newlyAllowed - a.newlyBlocked - a.newlyAllowed || (a.rule < b.rule ? -1 : 1)),
  };
}
