import type { Label } from '../rows/labelled-text.js';
import type { Scored, ScoredText } from '../scoring/score-texts.js';
import { decidingSide, isBlocked } from './sides.js';

export interface ChangedVerdict extends Pick<ScoredText, 'id' | 'source' | 'label' | 'rule' | 'text' | 'channel'> {
  readonly before: 'allow' | 'block';
  readonly after: 'allow' | 'block';
}

/** Difference between the verdicts of a new pack or model and those of an old one, or recorded ones. */
export interface VerdictChanges {
  /** Texts that have both verdicts. */
  readonly compared: number;
  readonly newlyBlocked: number;
  readonly newlyAllowed: number;
  /** Of the labelled texts: net change in attacks found, and in false positives. */
  readonly gainedAttacks: number;
  readonly gainedFalseAlarms: number;
  readonly changes: readonly ChangedVerdict[];
}

function blockedIn(scored: Scored): readonly boolean[] {
  return scored.texts.map((text) => isBlocked(text, decidingSide(scored), scored));
}

function listChanges(now: Scored, before: readonly (boolean | undefined)[]): VerdictChanges {
  const after = blockedIn(now);
  const word = (isBlock: boolean | undefined): 'allow' | 'block' => (isBlock ? 'block' : 'allow');
  const changes = now.texts.flatMap(({ id, source, label, rule, text, channel }, i): readonly ChangedVerdict[] =>
    before[i] === undefined || before[i] === after[i]
      ? []
      : [{ id, source, label, before: word(before[i]), after: word(after[i]), rule, text, channel }],
  );
  const net = (label: Label): number =>
    changes
      .filter((change) => change.label === label)
      .reduce((sum, { after: verdict }) => sum + (verdict === 'block' ? 1 : -1), 0);
  return {
    compared: before.filter((one) => one !== undefined).length,
    newlyBlocked: changes.filter(({ after: verdict }) => verdict === 'block').length,
    newlyAllowed: changes.filter(({ after: verdict }) => verdict === 'allow').length,
    gainedAttacks: net('injection'),
    gainedFalseAlarms: net('benign'),
    changes,
  };
}

/** Compares two screenings of the same texts in the same order. */
export function changedVerdicts(now: Scored, old: Scored): VerdictChanges {
  return listChanges(now, blockedIn(old));
}

/** Compares with the verdicts recorded in an evidence export; rows without one are skipped. */
export function changedFromRecord(now: Scored): VerdictChanges {
  return listChanges(
    now,
    now.texts.map(({ recorded }) => (recorded === undefined ? undefined : recorded === 'block')),
  );
}
